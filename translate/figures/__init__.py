"""Figures and pages from words and matrices, without any model."""
