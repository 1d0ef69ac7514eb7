"""The pair of a sentence that a test has put together."""

from translate.grammar import english, french, sov
from translate.grammar.generator import Example, gold
from translate.grammar.meaning import Sentence

REALISERS = {"fr": french.realise, "sov": sov.realise}


def realise(sentence: Sentence, target: str = "fr") -> Example:
    """The pair of an abstract sentence, with its gold links."""
    source, translation = english.realise(sentence), REALISERS[target](sentence)
    texts = [" ".join(token.text for token in tokens) for tokens in (source, translation)]
    return Example(texts[0], texts[1], gold(source, translation))
