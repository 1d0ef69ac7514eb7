"""Images as sources: scenes that are drawn, files that are read, and the patches that a model reads."""
