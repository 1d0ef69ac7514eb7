"""The corpora that this package generates, as splits."""
