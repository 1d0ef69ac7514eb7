"""A column of an Arrow table that reads as a sequence of Python values."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

if TYPE_CHECKING:
    from translate.corpora.columns.mapped import Mapped

T = TypeVar("T")
Change = Callable[[Any], Any]

ROWS = 1 << 13  # values that are Python objects at a time


class Column(Sequence[T]):
    """Values of Arrow arrays, which become Python objects only while somebody reads them.

    A slice is a list; :meth:`part` takes rows without reading them.

    Args:
        arrays: the values, one array after another.
        changes: a function of every value of each array, such as one that adds a word; ``None`` for none.
        mapped: the files that hold the arrays, if any.
    """

    def __init__(
        self,
        arrays: Iterable[Any],
        changes: Sequence[Change | None] | None = None,
        mapped: "Sequence[Mapped]" = (),
    ) -> None:
        self.arrays = list(arrays)
        self.changes = changes
        self.mapped = mapped
        self._starts = [0, *accumulate(map(len, self.arrays))]

    @classmethod
    def of(cls, values: Sequence[T], *, text: bool = True) -> "Column[T]":
        """A column in memory; a column is returned as it is."""
        if isinstance(values, Column):
            return values
        import pyarrow  # takes a moment

        kind = pyarrow.string() if text else None
        return cls(pyarrow.chunked_array([pyarrow.array(values, kind)]).chunks)

    def __len__(self) -> int:
        return self._starts[-1]

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            begin, end, step = index.indices(len(self))
            if step != 1:
                return [self[row] for row in range(begin, end, step)]
            return list(self._between(begin, max(begin, end)))
        row = index + len(self) if index < 0 else index
        if not 0 <= row < len(self):
            raise IndexError(index)
        number = bisect_right(self._starts, row) - 1
        return self._values(number, row - self._starts[number], 1)[0]

    def __iter__(self) -> Iterator[T]:
        return self._between(0, len(self))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(mine == its for mine, its in zip(self, other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Column({self[:3]}{', ...' if len(self) > 3 else ''})"

    def take(self, rows: Iterable[int]) -> "Column[T]":
        """The values of some rows, in memory; of more than a few, :meth:`part` or :meth:`without`."""
        import pyarrow

        found = self.gather(np.fromiter(rows, np.int64))
        kind = self.arrays[0].type if self.arrays and self.changes is None else pyarrow.string()
        return Column([pyarrow.array(found, kind)])

    def gather(self, rows: np.ndarray) -> list[T]:
        """The values of many rows, in their order."""
        found: list[Any] = [None] * len(rows)
        numbers = np.searchsorted(np.asarray(self._starts), rows, side="right") - 1
        order = np.argsort(numbers, kind="stable")
        for group in np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1 if len(order) else []):
            if len(group):
                number = int(numbers[group[0]])
                array = self.arrays[number].take(rows[group] - self._starts[number])
                for place, value in zip(group.tolist(), self._changed(number, array.to_pylist())):
                    found[place] = value
        self.release()
        return found

    def part(self, begin: int, end: int) -> "Column[T]":
        """The rows from ``begin`` to ``end``, which stay where they are."""
        arrays, changes = [], []
        for number, first, count in self._pieces(begin, end):
            arrays.append(self.arrays[number].slice(first, count))
            changes.append(None if self.changes is None else self.changes[number])
        return Column(arrays, None if self.changes is None else changes, self.mapped)

    def without(self, rows: Sequence[int]) -> "Column[T]":
        """All rows but some, which are sorted; the others stay where they are."""
        edges = pairwise([-1, *(int(row) for row in rows), len(self)])
        return joined([self.part(before + 1, after) for before, after in edges if after > before + 1])

    def changed(self, change: Change) -> "Column[Any]":
        """The same rows with a function of each value, which is computed whenever a value is read."""
        assert self.changes is None
        return Column(self.arrays, [change] * len(self.arrays), self.mapped)

    def blocks(self) -> Iterator[list[T]]:
        """All values, up to ``ROWS`` at a time."""
        for number, array in enumerate(self.arrays):
            for first in range(0, len(array), ROWS):
                yield self._values(number, first, ROWS)
            self.release()

    def release(self) -> None:
        """Give back the pages of the files that have been read."""
        for each in self.mapped:
            each.release()

    def _between(self, begin: int, end: int) -> Iterator[T]:
        for number, first, count in self._pieces(begin, end):
            for place in range(first, first + count, ROWS):
                yield from self._values(number, place, min(ROWS, first + count - place))
            if count >= ROWS:
                self.release()

    def _pieces(self, begin: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Array, first row in it, and number of rows, for rows from ``begin`` to ``end``."""
        number = bisect_right(self._starts, begin) - 1
        while begin < end:
            first = begin - self._starts[number]
            count = min(end, self._starts[number + 1]) - begin
            if count:
                yield number, first, count
            begin, number = begin + count, number + 1

    def _values(self, number: int, first: int, count: int) -> list[Any]:
        return self._changed(number, self.arrays[number].slice(first, count).to_pylist())

    def _changed(self, number: int, found: list[Any]) -> list[Any]:
        change = self.changes[number] if self.changes is not None else None
        return found if change is None else [change(value) for value in found]


def joined(columns: Sequence[Column[T]]) -> Column[T]:
    """The rows of several columns, one after another."""
    arrays = [array for column in columns for array in column.arrays]
    changes = [
        change
        for column in columns
        for change in (column.changes if column.changes is not None else [None] * len(column.arrays))
    ]
    mapped = {id(each): each for column in columns for each in column.mapped}
    return Column(arrays, changes if any(changes) else None, list(mapped.values()))


def rows_where(column: Column[str], wanted: Callable[[Any], Any]) -> np.ndarray:
    """The rows in which ``wanted``, a function of Arrow arrays, is true; changes are not looked at."""
    found = []
    for number, array in enumerate(column.arrays):
        mask = wanted(array)
        found.append(np.flatnonzero(mask.to_numpy(zero_copy_only=False)) + column._starts[number])
        if number % 16 == 15:
            column.release()
    return np.concatenate(found) if found else np.empty(0, np.int64)
