"""Trained models in the formats of other engines, a file for each, proved by translating with both."""
