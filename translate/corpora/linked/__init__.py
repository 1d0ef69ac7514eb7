"""Word links of training pairs: read, or estimated."""
