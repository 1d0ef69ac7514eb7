"""Corpora whose source lines name pictures: drawn scenes, and names of files beside the sentences."""
