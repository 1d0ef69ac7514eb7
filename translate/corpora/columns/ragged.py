"""Sequences of ids of different lengths, in one array or in the batches of a mapped file."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

PART = 1 << 15  # rows of each part but the last


class Rows(Protocol):
    """Sequences of ids, by their numbers."""

    @property
    def num_rows(self) -> int: ...
    @property
    def lengths(self) -> np.ndarray: ...
    def row(self, index: int) -> np.ndarray: ...
    def lengths_of(self, rows: np.ndarray) -> np.ndarray: ...


class Ragged(NamedTuple):
    """Sequences of different lengths in one array; row i is ``values[offsets[i]:offsets[i + 1]]``."""

    values: np.ndarray  # int32, all sequences one after another
    offsets: np.ndarray  # int64, (number of sequences + 1,)

    @classmethod
    def of(cls, sequences: Sequence[Sequence[int]]) -> "Ragged":
        lengths = np.fromiter((len(sequence) for sequence in sequences), np.int64, len(sequences))
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        values = np.fromiter((i for sequence in sequences for i in sequence), np.int32, int(offsets[-1]))
        return cls(values, offsets)

    @property
    def num_rows(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets)

    def row(self, index: int) -> np.ndarray:
        return self.values[self.offsets[index] : self.offsets[index + 1]]

    def lengths_of(self, rows: np.ndarray) -> np.ndarray:
        """The lengths of some rows."""
        return self.offsets[rows + 1] - self.offsets[rows]


class RaggedParts:
    """Sequences in several arrays, of ``PART`` rows each, but the last one, which may have fewer."""

    def __init__(self, parts: Sequence[Ragged]) -> None:
        self.parts = parts
        self.num_rows = sum(part.num_rows for part in parts)

    @property
    def lengths(self) -> np.ndarray:
        return np.concatenate([part.lengths for part in self.parts])

    def row(self, index: int) -> np.ndarray:
        number, row = divmod(index, PART)
        return self.parts[number].row(row)

    def lengths_of(self, rows: np.ndarray) -> np.ndarray:
        """The lengths of some rows."""
        found = np.empty(len(rows), np.int64)
        numbers = rows // PART
        order = np.argsort(numbers, kind="stable")
        present, edges = np.unique(numbers[order], return_index=True)
        for number, chosen in zip(present.tolist(), np.split(order, edges[1:])):
            found[chosen] = self.parts[number].lengths_of(rows[chosen] - number * PART)
        return found
