"""Parallel corpora: pairs from any source become one Arrow table, filtered, encoded and cut into batches."""
