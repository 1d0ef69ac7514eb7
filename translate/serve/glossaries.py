"""Glossaries: terms of a source language and the phrases that stand for them in translations."""

import csv
import io
import re
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from translate.config.names import shorten
from translate.serve.catalogue import Served
from translate.serve.service import MAX_GLOSSARIES, Service
from translate.serve.store import new_name
from translate.serve.web.requests import RefusalError
from translate.text.tokenizer import UNK

MAX_ENTRIES, MAX_CHARACTERS = 5_000, 200
MOST_TERMS = 8  # of a sentence
_PARTS = re.compile(r"\w+|\W")


@dataclass(frozen=True)
class Glossary:
    """Terms for two languages.

    Attributes:
        name: that its owner has given.
        source, target: codes of the languages.
        entries: phrases by their terms.
        identifier: by which requests name it.
        created: when.
    """

    name: str
    source: str
    target: str
    entries: dict[str, str]
    identifier: str = field(default_factory=new_name)
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

    def described(self) -> dict[str, Any]:
        """The description for clients."""
        return {
            "glossary_id": self.identifier,
            "ready": True,
            "name": self.name,
            "source_lang": self.source,
            "target_lang": self.target,
            "creation_time": self.created,
            "entry_count": len(self.entries),
        }

    @cached_property
    def _by_first(self) -> dict[str, list[tuple[int, str]]]:
        """The terms that begin with a word or sign, each with its rank; the longest come first."""
        found: dict[str, list[tuple[int, str]]] = {}
        for rank, term in enumerate(sorted(self.entries, key=len, reverse=True)):
            found.setdefault(_PARTS.findall(term)[0], []).append((rank, term))
        return found


def add_glossary(service: Service, glossary: Glossary, served: Served) -> None:
    """Keep a glossary while the server runs.

    Raises:
        RefusalError: if there are too many, or for a phrase that the model cannot write.
    """
    if len(service.glossaries.names()) >= MAX_GLOSSARIES:
        raise RefusalError(456, f"there are {MAX_GLOSSARIES:,} glossaries; delete one")
    tokenizer = served.translator.tokenizers.target
    for phrase in glossary.entries.values():
        ids = tokenizer.encode(phrase)
        if not ids or UNK in ids:
            raise RefusalError(
                400, f"entries: {shorten(repr(phrase))} has characters that the model cannot write"
            )
    service.glossaries.put(glossary.identifier, asdict(glossary))


def find_glossary(service: Service, identifier: object) -> Glossary:
    """The glossary of an identifier.

    Raises:
        RefusalError: if there is none.
    """
    found = service.glossaries.get(identifier)
    if found is None:
        raise RefusalError(404, "there is no such glossary")
    return Glossary(**found[0])


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
