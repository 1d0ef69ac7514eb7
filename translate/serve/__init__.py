"""HTTP APIs and the live page over translators."""
