"""Mixtures of corpora: joined splits, and how much of each corpus an epoch draws."""
