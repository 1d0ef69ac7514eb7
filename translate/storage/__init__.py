"""A run's folder on disk: its layout, its lock and its checkpoints."""
