"""Words of a sentence, with their character offsets: what an alignment links."""

import re
import sys
import unicodedata
from functools import cache
from typing import NamedTuple

FRENCH_CLITICS = "la|le|les|lui|leur|moi|toi|nous|vous|y|en|je|tu|il|elle|on|ils|elles|ce"


class Word(NamedTuple):
    """One word and where it stands: ``sentence[start:end] == text``."""

    text: str
    start: int
    end: int


@cache
def _pattern() -> re.Pattern[str]:
    # Python's \w leaves combining marks out, which would cut "e" + U+0301 and most Indic words apart.
    marks = "".join(chr(c) for c in range(0x300, min(0x1F000, sys.maxunicode)) if _is_mark(chr(c)))
    letter = rf"[\w{re.escape(marks)}\u200c\u200d]"
    # What follows an emoji and changes it (skin, style, joined to the next one) is not a word.
    emoji_part = rf"[{re.escape(marks)}\u200c\U0001f3fb-\U0001f3ff]|\u200d[^\w\s]?"
    clitic = rf"(?i:-(?:t-(?:il|elle|on)|{FRENCH_CLITICS})(?!{letter}|['’]))"
    return re.compile(
        rf"(?P<clitic>{clitic})"
        rf"|[Aa]ujourd['’]hui(?!{letter})"
        r"|\d+(?:[.,:]\d+)+"
        rf"|{letter}+(?:(?!{clitic})-{letter}+)*['’]?"
        r"|[\U0001f1e6-\U0001f1ff]{2}"  # a flag
        rf"|(?P<mark>[^\w\s])(?:(?P=mark)|{emoji_part})*"
    )


def _is_mark(character: str) -> bool:
    return unicodedata.category(character) in ("Mn", "Mc")


def split_words(text: str) -> list[Word]:
    """Split at white space, at punctuation, after apostrophes and before French clitics (*cherchez-le*).

    Splitting the words joined by spaces again gives the same words.
    """
    return [Word(match.group(), match.start(), match.end()) for match in _pattern().finditer(text)]


def whitespace_words(text: str) -> list[Word]:
    """Split at white space alone: the words that gold links of a tokenised corpus count."""
    return [Word(match.group(), match.start(), match.end()) for match in re.finditer(r"\S+", text)]


def tokenise(text: str) -> str:
    """The words of ``text`` joined by single spaces."""
    return " ".join(word.text for word in split_words(text))
