"""Finds translations: one search loop over the ``start``/``step`` contract of every model."""
