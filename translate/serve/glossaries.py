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
        """The phrases that the translation of a sentence must contain; of terms that overlap, the longest."""
        parts, found, start = _PARTS.findall(sentence), list[str](), 0
        while start < len(parts):
            ends = range(min(len(parts), start + self._longest), start, -1)
            end = next((end for end in ends if "".join(parts[start:end]) in self.entries), start)
            if end > start:
                found.append(self.entries["".join(parts[start:end])])
            start = max(end, start + 1)
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
    def _longest(self) -> int:
        """Words and signs of the longest term."""
        return max(len(_PARTS.findall(term)) for term in self.entries)


def add_glossary(service: Service, glossary: Glossary, served: Served) -> None:
    """Keep a glossary while the server runs.

    Raises:
        RefusalError: if there are too many, or for a phrase that the model cannot write.
    """
    if len(service.glossaries.names()) >= MAX_GLOSSARIES:
        raise RefusalError(409, f"there are {MAX_GLOSSARIES:,} glossaries; delete one")
    tokenizer = served.translator.tokenizers.target
    for phrase in glossary.entries.values():
        ids = tokenizer.encode(phrase)
        if not ids or UNK in ids:
            shown = shorten(repr(phrase))
            raise RefusalError(400, f"entries: {shown} has characters that the model cannot write")
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
    try:
        lines = (
            csv.reader(io.StringIO(text)) if form == "csv" else [row.split("\t") for row in text.splitlines()]
        )
        rows = [(number, row) for number, row in enumerate(lines, 1) if any(map(str.strip, row))]
    except csv.Error as error:
        raise RefusalError(400, "entries: damaged CSV") from error
    if not 0 < len(rows) <= MAX_ENTRIES:
        raise RefusalError(400, f"entries: {len(rows):,} lines; expected 1 to {MAX_ENTRIES:,}")
    found: dict[str, str] = {}
    for number, row in rows:
        columns = [column.strip() for column in row[:2]]
        if len(columns) < 2 or not all(0 < len(column) <= MAX_CHARACTERS for column in columns):
            expected = f"expected a term and its translation, of 1 to {MAX_CHARACTERS} characters"
            raise RefusalError(400, f"entries: line {number}: {expected}")
        if columns[0] in found:
            raise RefusalError(400, f"entries: line {number}: the term stands twice")
        found[columns[0]] = columns[1]
    return found
