"""Trained models in the formats of other engines, one file a format, proved by translating with both."""
