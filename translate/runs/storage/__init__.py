"""A run's folder on disk: layout, lock and checkpoints."""
