"""Glossaries: terms of a source language and the phrases that stand for them in translations."""

import csv
import io
import re
import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property

from translate.config.names import shorten
from translate.serve.catalogue import Served
from translate.serve.web.refusals import RefusalError
from translate.text.tokenizer import UNK

MAX_GLOSSARIES, MAX_ENTRIES, MAX_CHARACTERS = 1_000, 5_000, 200
MOST_TERMS = 8  # of a sentence
_PARTS = re.compile(r"\w+|\W")


@dataclass(frozen=True)
class Glossary:
    """Terms for two languages.

    Attributes:
        name: that its owner has given.
        source, target: codes of the languages.
        entries: the phrase for each term.
        identifier: by which requests name it.
        created: when.
    """

    name: str
    source: str
    target: str
    entries: dict[str, str]
    identifier: str = field(default_factory=lambda: secrets.token_hex(16))
    created: str = field(default_factory=lambda: datetime.now(UTC).isoformat())

    def terms(self, sentence: str) -> list[str]:
        """The phrases that the translation of a sentence must contain: the longest terms first."""
        found, rest = [], sentence
        near = {pair for first in {*_PARTS.findall(sentence)} for pair in self._by_first.get(first, ())}
        for _, term in sorted(near):
            if term not in rest:
                continue
            whole = re.compile(rf"(?<!\w){re.escape(term)}(?!\w)")
            if whole.search(rest):
                rest = whole.sub("\0", rest)
                found.append(self.entries[term])
        return list(dict.fromkeys(found))[:MOST_TERMS]

    @cached_property
    def _by_first(self) -> dict[str, list[tuple[int, str]]]:
        """The terms that begin with a word or sign, each with its rank; the longest come first."""
        found: dict[str, list[tuple[int, str]]] = {}
        for rank, term in enumerate(sorted(self.entries, key=len, reverse=True)):
            found.setdefault(_PARTS.findall(term)[0], []).append((rank, term))
        return found


class Glossaries:
    """The glossaries of a server, kept while it runs."""

    def __init__(self) -> None:
        self._known: dict[str, Glossary] = {}

    def add(self, glossary: Glossary, served: Served) -> None:
        """Keep a glossary.

        Raises:
            RefusalError: if there are too many, or for a phrase that the model cannot write.
        """
        if len(self._known) >= MAX_GLOSSARIES:
            raise RefusalError(456, f"there are {MAX_GLOSSARIES:,} glossaries; delete one")
        tokenizer = served.translator.tokenizers.target
        for phrase in glossary.entries.values():
            ids = tokenizer.encode(phrase)
            if not ids or UNK in ids:
                raise RefusalError(
                    400, f"entries: {shorten(repr(phrase))} has characters that the model cannot write"
                )
        self._known[glossary.identifier] = glossary

    def find(self, identifier: object) -> Glossary:
        """The glossary of an identifier."""
        found = self._known.get(identifier) if isinstance(identifier, str) else None
        if found is None:
            raise RefusalError(404, "there is no such glossary")
        return found

    def remove(self, identifier: str) -> None:
        """Forget a glossary."""
        self.find(identifier)
        del self._known[identifier]

    def all(self) -> list[Glossary]:
        """All glossaries."""
        return list(self._known.values())


def read_entries(text: str, form: str) -> dict[str, str]:
    """The entries of a text with one a line, in columns that tabs (tsv) or commas (csv) separate.

    Raises:
        RefusalError: for a line without two columns, an empty or a repeated term, or too many lines.
    """
    if form == "tsv":
        rows = [line.split("\t") for line in text.splitlines() if line.strip()]
    else:
        try:
            rows = [row for row in csv.reader(io.StringIO(text)) if row]
        except csv.Error as error:
            raise RefusalError(400, "entries: damaged CSV") from error
    if not 0 < len(rows) <= MAX_ENTRIES:
        raise RefusalError(400, f"entries: {len(rows):,} lines; expected 1 to {MAX_ENTRIES:,}")
    found: dict[str, str] = {}
    for number, row in enumerate(rows, 1):
        columns = [column.strip() for column in row[:2]]
        if len(columns) < 2 or not all(0 < len(column) <= MAX_CHARACTERS for column in columns):
            raise RefusalError(
                400, f"entries: line {number}: expected a term and its translation, of 1 to {MAX_CHARACTERS}"
            )
        if columns[0] in found:
            raise RefusalError(400, f"entries: line {number}: the term stands twice")
        found[columns[0]] = columns[1]
    return found
