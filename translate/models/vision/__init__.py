"""Encoders of pictures: the grid of patches, gates over it, and the encoders themselves."""
