"""Evaluation: scores of translations, the significance of differences, and where systems differ."""
