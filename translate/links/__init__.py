"""Links between words: formats, error rates, symmetrisation, and the statistical aligner."""
