"""Arrow tables that may be larger than the memory: written block by block, mapped, read as sequences."""

import hashlib
import mmap
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self, TypeVar, overload

import numpy as np
import pyarrow
import pyarrow.ipc

from translate.text.file_writing import explain_write_errors, scratch, sync
from translate.text.lines import read_line_blocks

T = TypeVar("T")

ROWS = 1 << 13  # values that are Python objects at a time
IN_MEMORY = 1 << 26  # bytes of a table that is kept in memory
TEMPORARY = "the system's folder of temporary files (TMPDIR)"
LINES = pyarrow.schema([("line", pyarrow.string())])


class Mapped:
    """A table whose values lie in a file; reading a row reads its pages.

    The system counts pages that were read as memory of this process until they are released, which loses
    nothing: they are in the file, and mostly in the system's cache, too.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.table = pyarrow.ipc.open_file(pyarrow.py_buffer(self._map)).read_all()

    @classmethod
    def open(cls, path: Path) -> "Mapped":
        """Map a file of Arrow's file format; raises ``OSError`` or ``ValueError``, as ``ArrowInvalid`` is."""
        with path.open("rb") as file:
            return cls(file)

    def release(self) -> None:
        """Give back the pages that have been read."""
        self._map.madvise(mmap.MADV_DONTNEED)


class Column(Sequence[T]):
    """A column of Arrow, whose values become Python objects only while they are read.

    A slice is a list; :meth:`part` takes rows without reading them.

    Args:
        values: the column.
        mapped: the files that hold it, if any.
    """

    def __init__(self, values: pyarrow.ChunkedArray, mapped: Sequence[Mapped] = ()) -> None:
        self.values = values
        self.mapped = mapped

    @classmethod
    def of(cls, values: Sequence[T], kind: pyarrow.DataType | None = None) -> "Column[T]":
        """A column in memory, of text by default; a column is returned as it is."""
        if isinstance(values, Column):
            return values
        return cls(pyarrow.chunked_array([pyarrow.array(values, kind or pyarrow.string())]))

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if not isinstance(index, slice):
            return self.values[int(index)].as_py()
        begin, end, step = index.indices(len(self))
        if step != 1:
            return [self[row] for row in range(begin, end, step)]
        return self.values.slice(begin, max(0, end - begin)).to_pylist()

    def __iter__(self) -> Iterator[T]:
        return (value for block in self.blocks() for value in block)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(mine == its for mine, its in zip(self, other))

    __hash__ = None  # type: ignore[assignment]

    def gather(self, rows: np.ndarray) -> list[T]:
        """The values of some rows, in their order."""
        found = [self[row] for row in rows.tolist()]  # Arrow's own would join all parts of the column first
        self.release()
        return found

    def take(self, rows: Sequence[int]) -> "Column[T]":
        """The values of some rows, in memory; of more than a few, :meth:`part` or :meth:`without`."""
        return Column.of([self[row] for row in rows], self.values.type)

    def part(self, begin: int, end: int) -> "Column[T]":
        """The rows from ``begin`` to ``end``, which stay where they are."""
        return Column(self.values.slice(begin, end - begin), self.mapped)

    def without(self, rows: Sequence[int]) -> "Column[T]":
        """All rows but some, which are sorted; the others stay where they are."""
        edges = pairwise([-1, *(int(row) for row in rows), len(self)])
        parts = [self.part(before + 1, after) for before, after in edges if after > before + 1]
        return joined(parts) if parts else self.part(0, 0)

    def blocks(self) -> Iterator[list[T]]:
        """All values, up to ``ROWS`` at a time."""
        for begin in range(0, len(self), ROWS):
            yield self[begin : begin + ROWS]
            self.release()

    def release(self) -> None:
        """Give back the pages of the files that have been read."""
        for mapped in self.mapped:
            mapped.release()


def joined(columns: Sequence[Column[T]]) -> Column[T]:
    """The rows of several columns, one after another."""
    kind = columns[0].values.type
    arrays = [array.cast(kind) for column in columns for array in column.values.chunks]
    mapped = {id(file): file for column in columns for file in column.mapped}
    return Column(pyarrow.chunked_array(arrays, kind), list(mapped.values()))


class StoredTable(NamedTuple):
    """A table, and the files that it is mapped from.

    ``name`` is a fingerprint of the content if that is large.
    """

    table: pyarrow.Table
    mapped: Sequence[Mapped] = ()
    name: str | None = None

    def column(self, name: str) -> Column[Any]:
        return Column(self.table.column(name), self.mapped)

    def filtered(self, wanted: np.ndarray) -> "StoredTable":
        """A table of the rows where ``wanted`` (bool) is true; raises ``OSError`` if the disk is full."""
        begin = 0
        with Spill(self.table.schema) as spill:
            for batch in self.table.to_batches():
                spill.add_batch(batch.filter(pyarrow.array(wanted[begin : begin + len(batch)])))
                begin += len(batch)
                for file in self.mapped:
                    file.release()
            return spill.finish()


class Spill:
    """Collects rows for a table, which a file holds as soon as it is large.

    Args:
        schema: of the table.
        path: of the file, which gets this name when it is whole, however small; ``None`` for a table in
            memory or, if it is large, in a temporary file without a name, of which nothing is left behind.
    """

    def __init__(self, schema: pyarrow.Schema, path: Path | None = None) -> None:
        self.schema = schema
        self.path = path
        self._in_memory = IN_MEMORY if path is None else -1
        self._digest = hashlib.blake2b(digest_size=16)
        self._stack = ExitStack()
        self._batches: list[pyarrow.RecordBatch] = []
        self._size = 0
        self._file: BinaryIO | None = None
        self._writer: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def add(self, columns: Sequence[Sequence[Any]]) -> None:
        """Append rows, given as columns; raises ``OSError`` if the disk is full."""
        arrays = [pyarrow.array(values, field.type) for values, field in zip(columns, self.schema)]
        self.add_batch(pyarrow.RecordBatch.from_arrays(arrays, schema=self.schema))

    def add_batch(self, batch: pyarrow.RecordBatch) -> None:
        """Append a batch of Arrow; raises ``OSError`` if the disk is full."""
        self._size += batch.nbytes
        for column in batch.columns:
            for buffer in column.buffers():
                self._digest.update(buffer or b"")
        self._batches.append(batch)
        if self._size > self._in_memory:
            self._write()

    def finish(self) -> StoredTable:
        """The table; raises ``OSError`` if the disk is full."""
        if self.path is not None:
            self._write()
        if self._file is None:
            return StoredTable(pyarrow.Table.from_batches(self._batches, self.schema))
        self._writer.close()
        self._file.flush()
        mapped = Mapped(self._file)
        if self.path is not None:
            new = Path(self._file.name)
            sync(new)  # some file systems report a full disk only here
            new.replace(self.path)
        return StoredTable(mapped.table, [mapped], self._digest.hexdigest())

    def _write(self) -> None:
        if self._file is None:
            self._file = self._open()
            self._writer = pyarrow.ipc.new_file(self._file, self.schema)
        for batch in self._batches:
            self._writer.write_batch(batch)
        self._batches = []

    def _open(self) -> BinaryIO:
        if self.path is None:
            return self._stack.enter_context(tempfile.TemporaryFile())
        self.path.parent.mkdir(parents=True, exist_ok=True)
        folder = self._stack.enter_context(scratch(self.path.parent))
        return self._stack.enter_context((folder / self.path.name).open("w+b"))


def spilled(schema: pyarrow.Schema, blocks: Iterable[Sequence[Sequence[Any]]]) -> StoredTable:
    """A table of blocks of rows, given as columns.

    Raises:
        UserError: if the folder of temporary files is full.
    """
    with explain_write_errors(TEMPORARY), Spill(schema) as spill:
        for block in blocks:
            spill.add(block)
        return spill.finish()


def kept_or_temporary(path: Path | None, what: str, make: Callable[[Path | None], T]) -> T:
    """The result of ``make``, which writes a file of a cache or, where that cannot be, one without a name.

    Args:
        path: of the file in the cache, if it is to be kept.
        what: is written, for a note.
    Raises:
        UserError: if the folder of temporary files is full.
    """
    if path is not None:
        try:
            return make(path)
        except OSError as error:  # without the cache everything works, more slowly
            print(f"note: {what} cannot be kept in {path.parent} ({error.strerror})")
    with explain_write_errors(TEMPORARY):
        return make(None)


def stored_lines(path: Path) -> Column[str]:
    """The lines of a file of any size, as :func:`read_lines`; those of a large one lie in a file.

    Raises:
        UserError: if the file cannot be read, or the folder of temporary files is full.
    """
    return spilled(LINES, ([block] for block in read_line_blocks(path))).column("line")
