"""Alignments of a model: weights between words by several methods, and the choice of layer and heads."""
