"""Another engine that searches for the translations of a run: what it can hold, its files, its loop."""
