"""Parallel corpora: read, filtered, encoded and cut into batches."""
