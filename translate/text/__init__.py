"""Text: its lines, sentences, words and subword pieces."""
