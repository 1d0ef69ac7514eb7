"""What an alignment carries over to a translation: markup, and the source of unknown words."""
