"""A glossary: terms of the source, and the phrases that stand for them in a translation."""

import csv
import io
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path

from translate.config.names import shorten
from translate.errors import UserError
from translate.text.languages import NAMES, base, code_of
from translate.text.lines import read_lines
from translate.text.markup import find_markup

MAX_ENTRIES, MAX_CHARACTERS = 5_000, 200
MOST_TERMS = 8  # of a sentence
FEWEST_SHARED, ENDING = 4, 3  # letters of two forms of a word: that they share, that may differ
_PARTS, _WORDS = re.compile(r"\w+|\W"), re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class Terms:
    """The terms of a glossary, as sentences are searched for them.

    Attributes:
        entries: phrases by their terms. A term in small letters stands for *Patent* and *PATENT*, too.
    """

    entries: Mapping[str, str]

    def of(self, sentence: str) -> list[str]:
        """The phrases for a sentence but its markup; of terms that overlap, the longest counts."""
        borders = [0, *(border for mark in find_markup(sentence) for border in mark.span()), len(sentence)]
        text = "\0".join(sentence[start:end] for start, end in zip(borders[::2], borders[1::2], strict=True))
        parts, found, start = _PARTS.findall(_plain(text)), list[str](), 0
        while start < len(parts):
            ends = range(min(len(parts), start + self._longest), start, -1)
            texts = (("".join(parts[start:end]), end) for end in ends)
            phrases = ((self.entries.get(text) or self.entries.get(text.lower()), end) for text, end in texts)
            phrase, start = next((hit for hit in phrases if hit[0]), (None, start + 1))
            found += [phrase] if phrase else []
        return list(dict.fromkeys(found))[:MOST_TERMS]

    @cached_property
    def _longest(self) -> int:
        """Words and signs of the longest term."""
        return max((len(_PARTS.findall(term)) for term in self.entries), default=0)


def as_terms(glossary: Mapping[str, str] | Terms) -> Terms:
    """The terms of a glossary; raises :class:`UserError` for values that are no texts."""
    if isinstance(glossary, Terms):
        return glossary
    if not all(isinstance(text, str) for text in chain(*glossary.items())):
        raise UserError(f"glossary: expected texts by their terms, got {shorten(repr(glossary))}")
    return Terms({_plain(term): phrase for term, phrase in glossary.items()})


def read_glossary(path: Path) -> dict[str, str]:
    """The entries of a file; raises :class:`UserError` as :func:`read_entries`."""
    return read_entries(
        "\n".join(read_lines(path)), "csv" if path.suffix.lower() == ".csv" else "tsv", str(path)
    )


def read_entries(text: str, form: str, where: str = "entries") -> dict[str, str]:
    """The entries of a text: one a line, in columns that tabs (tsv), or commas or semicolons (csv) separate.

    A first line that names both languages, or ``source`` and ``target``, is none, nor is a comment: a line
    of one column that begins with ``#``, as OmegaT's glossaries do.

    Raises:
        UserError: for a line without two columns, an empty or a repeated term, or too many lines.
    """
    mark = "\t" if form == "tsv" else max(",;", key=text.partition("\n")[0].count)
    try:
        quoted = csv.reader(io.StringIO(text), delimiter=mark)
        lines = quoted if form == "csv" else [row.split(mark) for row in text.splitlines()]
        filled = ((number, row) for number, row in enumerate(lines, 1) if any(map(str.strip, row)))
        rows = [(number, row) for number, row in filled if len(row) > 1 or not row[0].startswith("#")]
        heads = [base(code_of(column)) for column in rows[0][1][:2]] if rows else []
        if heads == ["source", "target"] or (len({*heads} & NAMES.keys()) == 2):
            del rows[0]
    except csv.Error as error:
        raise UserError(f"{where}: damaged CSV") from error
    if not 0 < len(rows) <= MAX_ENTRIES:
        raise UserError(f"{where}: {len(rows):,} lines; expected 1 to {MAX_ENTRIES:,}")
    found: dict[str, str] = {}
    for number, row in rows:
        columns = [_plain(column) for column in row[:2]]
        if len(columns) < 2 or not all(0 < len(column) <= MAX_CHARACTERS for column in columns):
            raise UserError(
                f"{where}: line {number}: expected a term and its translation, separated by {mark!r}, of 1 "
                f"to {MAX_CHARACTERS} characters each (commas are for .csv)"
            )
        if columns[0] in found:
            raise UserError(f"{where}: line {number}: the term stands twice")
        found[columns[0]] = columns[1]
    return found


def has_phrase(text: str, phrase: str) -> bool:
    """Whether a text has one of the forms of a phrase (``"brevet|brevets"``), in words that may inflect.

    An inflected word shares four letters with that of the phrase, and all but the last three of the longer.
    """
    words = _WORDS.findall(_plain(text))
    begins = [words, [word[:1].lower() + word[1:] for word in words[:1]] + words[1:]]
    for form in phrase.split("|"):
        wanted = _WORDS.findall(_plain(form))
        size = len(wanted)
        parts = (own[start : start + size] for own in begins for start in range(len(own) - size + 1))
        if wanted and any(all(map(_inflects, part, wanted)) for part in parts):
            return True
    return False


def _inflects(word: str, wanted: str) -> bool:
    shared = max(FEWEST_SHARED, len(word) - ENDING, len(wanted) - ENDING)
    return word[:shared] == wanted[:shared]


def _plain(text: str) -> str:
    """The text in one form: composed letters, and a space for all white space."""
    return " ".join(unicodedata.normalize("NFC", text).split())
