"""The embedded grammar: lexicon, abstract sentences and their choice, and a realiser for each language."""
