"""A glossary: terms of the source, and the phrases that stand for them in a translation."""

import csv
import io
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from translate.errors import UserError
from translate.text.languages import NAMES, base, code_of
from translate.text.lines import read_lines
from translate.text.markup import find_markup

MAX_ENTRIES, MAX_CHARACTERS = 5_000, 200
MOST_TERMS = 8  # of a sentence
_PARTS = re.compile(r"\w+|\W")


@dataclass(frozen=True)
class Terms:
    """The phrases that translations of sentences must contain.

    Attributes:
        entries: phrases by their terms. A term in small letters stands for *Patent* and *PATENT*, too.
        always: phrases of every translation.
    """

    entries: Mapping[str, str]
    always: Sequence[str] = ()

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
        return [*self.always, *list(dict.fromkeys(found))[:MOST_TERMS]]

    def constraints(self, sentences: Sequence[str]) -> list[list[str]] | None:
        """The phrases for each sentence, as a search takes them; ``None`` if there are none."""
        found = [self.of(sentence) for sentence in sentences]
        return found if any(found) else None

    @cached_property
    def _longest(self) -> int:
        """Words and signs of the longest term."""
        return max((len(_PARTS.findall(term)) for term in self.entries), default=0)


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


def _plain(text: str) -> str:
    """The text in one form: composed letters, and a space for all white space."""
    return " ".join(unicodedata.normalize("NFC", text).split())
