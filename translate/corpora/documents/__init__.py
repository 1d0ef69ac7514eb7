"""Corpora with documents: ids of documents beside the pairs, and sources with previous sentences."""
