"""What alignments transfer to a translation: markup, and source words for unknown ones."""
