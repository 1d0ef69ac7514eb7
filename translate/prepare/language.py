"""Identifies the language of a side."""

from collections.abc import Iterable, Iterator

from translate.text.languages import base, identifier_of

MAX_CHARACTERS = 100  # of a side that are read; more make it hardly surer
# The languages with most text, among which a sentence that is not in its own language is looked for. Rare
# ones would be found in short sentences of their larger neighbours.
_WORLD = (
    "ar bg bn ca cs da de el en es et fa fi fr he hi hr hu id it ja ko lt lv ms nl no pl pt ro ru sk sl sr "
    "sv ta th tr uk ur vi zh"
)


def identify(texts: Iterable[str], pair: tuple[str, str]) -> Iterator[tuple[str, float]]:
    """The likeliest language of each text among `_WORLD` and the languages of the pair, and its probability.

    By naive Bayes over sequences of bytes (Lui and Baldwin 2012).
    """
    identifier = identifier_of(tuple(sorted({*_WORLD.split(), *map(base, pair)})))
    return (identifier.classify(text[:MAX_CHARACTERS]) for text in texts)


def is_known(code: str) -> bool:
    """Whether the identifier knows a language."""
    return identifier_of((base(code),)) is not None
