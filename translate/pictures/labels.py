"""Words as pictures and pages show them: on one line, in the direction of their script."""

import unicodedata
from collections.abc import Iterable

_LONGEST_WORD = 32  # characters
_ESCAPED = ("Cc", "Cs", "Zl", "Zp", "Cn")  # categories that would break the line or cannot be drawn
_REORDERING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # would move other words


def label(text: str, longest: int = _LONGEST_WORD) -> str:
    """The text on one line: control characters escaped, the middle left out of what is very long.

    A combining mark that has no letter before it stands on a dotted circle.
    """
    escaped = "".join(
        character.encode("unicode_escape").decode()
        if unicodedata.category(character) in _ESCAPED or character in _REORDERING
        else character
        for character in text
    )
    if escaped and unicodedata.category(escaped[0]) in ("Mn", "Mc", "Me"):
        escaped = "\u25cc" + escaped
    if len(escaped) > longest:
        half = longest // 2
        return f"{escaped[:half]}…{escaped[1 - half :]}"
    return escaped


def is_right_to_left(words: Iterable[str]) -> bool:
    """Whether most letters of the words are written from right to left, as in Arabic and Hebrew."""
    directions = [unicodedata.bidirectional(character) for word in words for character in word]
    return sum(each in ("R", "AL") for each in directions) > directions.count("L")
