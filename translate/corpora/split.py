"""Parallel sentences and their gold links, read or to be read."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any

import pyarrow

from translate.corpora.caches import fingerprint
from translate.corpora.columns import DOCUMENT, TEXTS, Column, spilled
from translate.corpora.images.line import most_words
from translate.errors import UserError
from translate.links.links import parse_gold, swapped_line


@dataclass(frozen=True)
class Split:
    """Parallel sentences: columns of an Arrow table, or lists of a few.

    Attributes:
        gold: a Pharaoh line a pair ("0-0 1p2"), if links are known.
        numbers: the indexes of the pairs before some were left out; ``None`` if all are there, or nobody
            counted.
        name: a fingerprint of a large table, from which those of its parts follow.
        corpora: the name of each pair's corpus, if a split to be scored has pairs of several.
        languages: the target language of each of these corpora.
        links: estimated ones, a Pharaoh line a training pair, if it was prepared with them.
        documents: the number of each pair's document, see `document_rows.py`, if they are known.
    """

    source: Sequence[str]
    target: Sequence[str]
    gold: Sequence[str] | None = None
    numbers: Sequence[int] | None = field(default=None, compare=False)
    name: str | None = field(default=None, compare=False, kw_only=True)
    corpora: Sequence[str] | None = field(default=None, compare=False, kw_only=True)
    languages: Mapping[str, str] = field(default_factory=dict, compare=False, kw_only=True)
    links: Sequence[str | None] | None = field(default=None, compare=False, kw_only=True)
    documents: Sequence[int] | None = field(default=None, compare=False, kw_only=True)

    def __len__(self) -> int:
        return len(self.source)

    def take(self, indices: Iterable[int]) -> "Split":
        """A few pairs, in the order of ``indices``."""
        chosen = list(indices)
        numbers = chosen if self.numbers is None else [self.numbers[i] for i in chosen]
        return replace(self._changed(lambda column: column.take(chosen)), numbers=numbers, name=None)

    def part(self, begin: int, end: int) -> "Split":
        """The pairs from ``begin`` to ``end``, which stay where they are."""
        return self._changed(lambda column: column.part(begin, end), "part", begin, end)

    def without(self, rows: Sequence[int]) -> "Split":
        """All pairs but some, which are sorted; the others stay where they are."""
        return self._changed(lambda column: column.without(rows), "without", *rows)

    def swapped(self) -> "Split":
        """The split with source and target exchanged, also in the gold links."""
        gold = None if self.gold is None else [swapped_line(line) for line in self.gold]
        return Split(self.target, self.source, gold, self.numbers)  # of the grammar, which is small

    def blocks(self) -> Iterator[tuple[list[str], list[str]]]:
        """Sources and targets, some thousands at a time."""
        return zip(Column.of(self.source).blocks(), Column.of(self.target).blocks(), strict=True)

    @cached_property
    def fingerprint(self) -> str:
        """A name for the text of all pairs in their order."""
        return self.name or fingerprint(chain(self.source, self.target))

    def _changed(self, change: Callable[[Column[Any]], Column[Any]], *how: object) -> "Split":
        """The split with every column changed; lists become columns."""

        def column(values: Sequence[Any] | None, kind: pyarrow.DataType = None) -> Any:
            return None if values is None else change(Column.of(values, kind))

        return Split(
            column(self.source),
            column(self.target),
            column(self.gold),
            column(self.numbers, pyarrow.int64()),
            links=column(self.links),
            name=None if self.name is None else fingerprint([self.name, *map(str, how)]),
            documents=column(self.documents, pyarrow.int64()),
        )


@dataclass(frozen=True)
class SplitReader:
    """A split that is read once, block by block.

    Attributes:
        blocks: gives sources and targets of equal number, and the numbers of their documents if these are
            known, some thousands at a time.
        gold: a Pharaoh line a pair, if links are known. They index the words between white space, from 0;
            the patches of a picture come before the words.
        where: the name of the gold links in messages; empty if they need no check.
        has_documents: whether blocks have the numbers of documents.
    """

    blocks: Callable[[], Iterator[Sequence[Sequence[Any]]]]
    gold: Sequence[str] | None = None
    where: str = ""
    has_documents: bool = False

    @classmethod
    def of(cls, split: Split, where: str = "") -> "SplitReader":
        """A reader of pairs that are in memory already."""
        return cls(lambda: iter([(split.source, split.target)]), split.gold, where)

    def linked_blocks(self) -> Iterator[tuple[Sequence[Sequence[Any]], Sequence[str]]]:
        """The blocks with their gold links; raises ``UserError`` unless there is one valid line a pair."""
        count = 0
        for block in self.blocks():
            links = [] if self.gold is None else self.gold[count : count + len(block[0])]
            for number, (line, source, target) in enumerate(zip(links, *block[:2]), start=count + 1):
                if self.where:
                    lengths = most_words(source), len(target.split())
                    parse_gold(line, where=f"{self.where}, line {number}", lengths=lengths)
            count += len(block[0])
            yield block, links
        if self.gold is not None and len(self.gold) != count:
            raise UserError(
                f"{self.where}: {len(self.gold)} lines of gold links for {count} sentence pairs; "
                f"expected one line a pair"
            )

    def whole(self) -> Split:
        """The split as a table; raises ``UserError`` for wrong gold links or a full disk."""
        schema = TEXTS.append(DOCUMENT) if self.has_documents else TEXTS
        found = spilled(schema, (block for block, _ in self.linked_blocks()))
        gold = None if self.gold is None else Column.of(self.gold)
        documents = found.column("document") if self.has_documents else None
        return Split(found.column("source"), found.column("target"), gold, documents=documents)


@dataclass(frozen=True)
class RawCorpus:
    """A corpus whose splits can be read."""

    languages: tuple[str, str]  # of source and target
    splits: dict[str, SplitReader]  # train; validation and test if there are any
    notes: tuple[str, ...] = ()  # sentences for the user about choices that reading made
