"""Recurrences on a CPU whose gradients are written out, instead of recorded step by step."""
