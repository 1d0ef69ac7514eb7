"""The embedded grammar: a lexicon, abstract sentences chosen at random, and a realiser a language."""
