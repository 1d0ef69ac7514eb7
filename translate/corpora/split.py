"""Parallel sentences and their gold links, read or to be read."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow

from translate.config.names import counted
from translate.corpora.caches import digests, fingerprint
from translate.corpora.columns import Column, StoredTable, spilled
from translate.corpora.images.line import most_words
from translate.errors import UserError
from translate.links.links import parse_gold, swapped_line
from translate.text.lines import read_line_blocks

NO_DOCUMENT = 0  # the number of a pair that is in no document
# The columns of a split that its parts have, too.
KINDS = {
    "source": pyarrow.string(),
    "target": pyarrow.string(),
    "gold": pyarrow.string(),
    "numbers": pyarrow.int64(),
    "links": pyarrow.string(),
    "documents": pyarrow.int64(),
}


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
        documents: the number of each pair's document, see :func:`document_numbers`, if they are known.
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

    @classmethod
    def of(cls, stored: StoredTable) -> "Split":
        """The columns of a table, by their names."""
        columns: dict[str, Any] = {name: stored.column(name) for name in stored.table.column_names}
        return cls(**columns, name=stored.name)

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
        columns: dict[str, Any] = {
            name: change(Column.of(getattr(self, name), kind))
            for name, kind in KINDS.items()
            if getattr(self, name) is not None
        }
        name = None if self.name is None else fingerprint([self.name, *map(str, how)])
        return Split(**columns, name=name)


@dataclass(frozen=True)
class SplitReader:
    """A split that is read once, block by block.

    Attributes:
        blocks: gives the columns of some thousands of pairs at a time.
        columns: their names, as :class:`Split` has them; source and target come first.
    """

    blocks: Callable[[], Iterator[Sequence[Sequence[Any]]]]
    columns: tuple[str, ...] = ("source", "target")

    @classmethod
    def of(cls, split: Split) -> "SplitReader":
        """A reader of pairs that are in memory already."""
        columns = ("source", "target") if split.gold is None else ("source", "target", "gold")
        return cls(lambda: iter([[getattr(split, name) for name in columns]]), columns)

    def whole(self) -> Split:
        """The split as a table; raises ``UserError`` for wrong gold links or a full disk."""
        return Split.of(spilled(schema_of(self.columns), self.blocks()))


def schema_of(columns: Iterable[str]) -> pyarrow.Schema:
    """The schema of a table with some columns of a split."""
    return pyarrow.schema([(name, KINDS[name]) for name in columns])


def beside(reader: SplitReader, column: str, path: Path, where: str) -> SplitReader:
    """A reader that also gives the gold links or the documents of a file with one line a pair.

    Gold links index the words between white space, from 0; the patches of a picture come before the words.
    While reading it raises ``UserError`` for more or fewer lines than pairs, and for links that do not fit.

    Args:
        column: ``gold`` or ``documents``.
        where: the name of the file in messages.
    """
    others = [index for index, name in enumerate(reader.columns) if name != column]

    def other_length(count: int, pairs: int) -> UserError:
        noun, what = ("line", "gold links") if column == "gold" else ("id", "documents")
        found = f"{counted(count, noun)} of {what} for {counted(pairs, 'sentence pair')}"
        return UserError(f"{where}: {found}; expected one line a pair")

    def blocks() -> Iterator[Sequence[Sequence[Any]]]:
        lines = chain.from_iterable(read_line_blocks(path))
        pairs, begin = reader.blocks(), 0
        for block in pairs:
            source, target = block[:2]
            own, end = list(islice(lines, len(source))), begin + len(source)
            if len(own) < len(source):
                raise other_length(begin + len(own), end + sum(len(further[0]) for further in pairs))
            for number, line in enumerate(own if column == "gold" else ()):
                lengths = most_words(source[number]), len(target[number].split())
                parse_gold(line, where=f"{where}, line {begin + number + 1}", lengths=lengths)
            read = document_numbers(own) if column == "documents" else own
            yield [*(block[index] for index in others), read]
            begin = end
        if further := sum(1 for _ in lines):
            raise other_length(begin + further, begin)

    return SplitReader(blocks, (*(reader.columns[index] for index in others), column))


def document_numbers(ids: Sequence[str]) -> list[int]:
    """The number of each document by its id, a hash of 63 bits; ``NO_DOCUMENT`` for a blank one."""
    names = [name.strip() for name in ids]
    numbers = (digest >> 1 for digest in digests(names).tolist())
    return [number or 1 if name else NO_DOCUMENT for name, number in zip(names, numbers, strict=True)]


@dataclass(frozen=True)
class RawCorpus:
    """A corpus whose splits can be read."""

    languages: tuple[str, str]  # of source and target
    splits: dict[str, SplitReader]  # train; validation and test if there are any
    notes: tuple[str, ...] = ()  # sentences for the user about choices that reading made

    @classmethod
    def of(cls, languages: tuple[str, str], splits: Mapping[str, Split]) -> "RawCorpus":
        """A corpus that is in memory already."""
        return cls(languages, {name: SplitReader.of(split) for name, split in splits.items()})
