"""Identifies the language of a side, and knows the scripts of languages."""

from collections.abc import Iterable, Iterator

from translate.text.languages import base, identifier_of

MAX_CHARACTERS = 100  # of a side that are read; more make it hardly surer
# The languages with most text, among which a sentence that is not in its own language is looked for. Rare
# ones would be found in short sentences of their larger neighbours.
_WORLD = (
    "ar bg bn ca cs da de el en es et fa fi fr he hi hr hu id it ja ko lt lv ms nl no pl pt ro ru sk sl sr "
    "sv ta th tr uk ur vi zh"
)
# Scripts, as classes of a regular expression, and the languages that are written in them.
_SCRIPTS = {
    r"\p{Latin}": "af br ca cs cy da de en eo es et eu fi fr ga gl hr hu id is it la lb lt lv ms mt nl no nb "
    "nn pl pt ro sk sl sq sv sw tl tr vi",
    r"\p{Greek}": "el",
    r"\p{Cyrillic}": "ru uk be bg mk kk ky mn",
    r"\p{Cyrillic}\p{Latin}": "sr uz az",
    r"\p{Armenian}": "hy",
    r"\p{Hebrew}": "he yi",
    r"\p{Arabic}": "ar fa ur ps ug",
    r"\p{Devanagari}": "hi mr ne",
    r"\p{Bengali}": "bn",
    r"\p{Tamil}": "ta",
    r"\p{Thai}": "th",
    r"\p{Georgian}": "ka",
    r"\p{Hangul}\p{Han}": "ko",
    r"\p{Hiragana}\p{Katakana}\p{Han}\x{30fc}": "ja",
    r"\p{Han}": "zh",
}


def script_of(code: str) -> str | None:
    """The letters of a language, as the content of a class in a regular expression; ``None`` if unknown."""
    return next((script for script, codes in _SCRIPTS.items() if base(code) in codes.split()), None)


def identify(texts: Iterable[str], pair: tuple[str, str]) -> Iterator[tuple[str, float]]:
    """The likeliest language of each text among `_WORLD` and the languages of the pair, and its probability.

    By naive Bayes over sequences of bytes (Lui and Baldwin 2012).
    """
    identifier = identifier_of(tuple(sorted({*_WORLD.split(), *map(base, pair)})))
    return (identifier.classify(text[:MAX_CHARACTERS]) for text in texts)


def is_known(code: str) -> bool:
    """Whether the identifier knows a language."""
    return identifier_of((base(code),)) is not None
