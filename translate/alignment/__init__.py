"""Attention weights to words, links, scores and pictures."""
