"""Encoded corpora: pairs as ids in Arrow tables, which a cache keeps and maps into memory."""

import gc
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from pyarrow import Table

    from translate.corpora.columns import Mapped

SIDES = ("source", "target", "links")
OBJECTS = 1_000_000  # new ones before Python looks for cycles again


class Rows(Protocol):
    """Sequences of ids, by their numbers."""

    @property
    def num_rows(self) -> int: ...
    def row(self, index: int) -> np.ndarray: ...
    def lengths_of(self, rows: np.ndarray) -> np.ndarray: ...


class Ragged:
    """Sequences of ids of different lengths, in the parts of an Arrow column.

    Args:
        parts: values (int32) and offsets (int64) of some sequences; sequence i of a part is
            ``values[offsets[i]:offsets[i + 1]]``.
    """

    def __init__(self, parts: Sequence[tuple[np.ndarray, np.ndarray]]) -> None:
        self.parts = parts
        self._starts = np.cumsum([0, *(len(offsets) - 1 for _, offsets in parts)])
        self._first_rows: list[int] = self._starts.tolist()

    @classmethod
    def of(cls, sequences: Sequence[Sequence[int]]) -> "Ragged":
        """Sequences that are lists in memory."""
        lengths = np.fromiter((len(sequence) for sequence in sequences), np.int64, len(sequences))
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        values = np.fromiter((i for sequence in sequences for i in sequence), np.int32, int(offsets[-1]))
        return cls([(values, offsets)])

    @property
    def num_rows(self) -> int:
        return self._first_rows[-1]

    def row(self, index: int) -> np.ndarray:
        number = bisect_right(self._first_rows, index) - 1
        values, offsets = self.parts[number]
        row = index - self._first_rows[number]
        return values[offsets[row] : offsets[row + 1]]

    def lengths_of(self, rows: np.ndarray) -> np.ndarray:
        """The lengths of some rows."""
        found = np.empty(len(rows), np.int64)
        numbers = np.searchsorted(self._starts, rows, side="right") - 1
        order = np.argsort(numbers, kind="stable")
        present, edges = np.unique(numbers[order], return_index=True)
        for number, chosen in zip(present.tolist(), np.split(order, edges[1:])):
            offsets, places = self.parts[number][1], rows[chosen] - self._starts[number]
            found[chosen] = offsets[places + 1] - offsets[places]
        return found


@dataclass(frozen=True)
class EncodedCorpus:
    """A split as piece ids, without begin and end of sentence."""

    source: Rows
    target: Rows
    links: Rows | None = None  # packed links of pieces, for guided attention: see `piece_links`
    mapped: Sequence["Mapped"] = field(default=(), kw_only=True)  # files that hold the ids

    def __len__(self) -> int:
        return self.target.num_rows

    def lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """The lengths of all sources and of all targets."""
        rows = np.arange(len(self))
        return self.source.lengths_of(rows), self.target.lengths_of(rows)

    def release(self) -> None:
        """Give back the pages of mapped files that have been read."""
        for file in self.mapped:
            file.release()


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Let Python look for cycles of objects only once in :data:`OBJECTS` new objects.

    The words of a corpus are millions of objects and no cycle; with its own setting, the collector walks
    through them again and again, for a quarter of the time in which pairs are linked and encoded.
    """
    first, *others = gc.get_threshold()
    gc.set_threshold(max(first, OBJECTS) if first else 0, *others)  # 0: switched off
    try:
        yield
    finally:
        gc.set_threshold(first, *others)


def read_encoded(path: Path) -> EncodedCorpus | None:
    """Map a file of :func:`collect_encoded`; returns ``None`` if it is missing or damaged."""
    from translate.corpora.columns import Mapped  # takes a moment

    try:
        mapped = Mapped.open(path)
        return _encoded(mapped.table, [mapped])
    except (ValueError, OSError, TypeError, AttributeError):
        return None


def collect_encoded(
    blocks: Iterable[Sequence[Sequence[Sequence[int]]]], path: Path | None, *, linked: bool = False
) -> EncodedCorpus:
    """Encoded pairs as a corpus of any size.

    Args:
        blocks: source ids and target ids of some pairs, and packed links if they are ``linked``.
        path: of the file; ``None`` for memory or, if they are many, for a file without a name.
    Raises:
        OSError: if the disk is full.
    """
    import pyarrow

    from translate.corpora.columns import Spill

    names = SIDES if linked else SIDES[:2]
    with Spill(
        pyarrow.schema([(name, pyarrow.large_list(pyarrow.int32())) for name in names]), path
    ) as spill:
        for block in blocks:
            spill.add(block)
        stored = spill.finish()
    return _encoded(stored.table, stored.mapped)


def _encoded(table: "Table", mapped: "Sequence[Mapped]") -> EncodedCorpus:
    sides = {
        name: Ragged(
            [
                (chunk.values.to_numpy(zero_copy_only=True), chunk.offsets.to_numpy())
                for chunk in table.column(name).chunks
            ]
        )
        for name in table.column_names
    }
    return EncodedCorpus(**sides, mapped=mapped)
