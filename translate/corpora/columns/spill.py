"""Tables that are written row by row: in memory while they are small, then in a file."""

import hashlib
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow
import pyarrow.ipc

from translate.corpora.columns.column import Column
from translate.corpora.columns.mapped import Mapped
from translate.text.aside import scratch, sync, told
from translate.text.lines import read_line_blocks

IN_MEMORY = 1 << 26  # bytes that are kept in memory
ROWS, CHARACTERS = 1 << 16, 1 << 24  # of a batch
TEXTS = pyarrow.schema([("source", pyarrow.string()), ("target", pyarrow.string())])
LINES = pyarrow.schema([("line", pyarrow.string())])
PAIRS = TEXTS.append(
    pyarrow.field("number", pyarrow.int64())
)  # with the index of each pair where it was read
DOCUMENT = pyarrow.field("document", pyarrow.int64())  # the number of a pair's document, after the others


class StoredTable(NamedTuple):
    """A table, and the files that it is mapped from.

    ``name`` is a fingerprint of the content if that is large.
    """

    table: pyarrow.Table
    mapped: Sequence[Mapped] = ()
    name: str | None = None

    def column(self, name: str) -> Column[Any]:
        return Column(self.table.column(name).chunks, mapped=self.mapped)

    def filtered(self, wanted: np.ndarray, path: Path | None = None) -> "StoredTable":
        """A table of the rows where ``wanted`` (bool) is true; raises ``OSError`` if the disk is full."""
        begin = 0
        with Spill(self.table.schema, path) as spill:
            for batch in self.table.to_batches():
                spill.add_batch(batch.filter(pyarrow.array(wanted[begin : begin + len(batch)])))
                begin += len(batch)
                for each in self.mapped:
                    each.release()
            return spill.finish()


class Spill:
    """Collects rows for a table, which a file holds as soon as it is large.

    Args:
        schema: of the table; its columns are text or numbers.
        path: for the file, which gets this name when it is whole; ``None`` for one without a name, in the
            system's folder of temporary files, of which nothing is left behind.
        in_memory: bytes that are kept in memory.
    """

    def __init__(
        self, schema: pyarrow.Schema, path: Path | None = None, *, in_memory: int | None = None
    ) -> None:
        self.schema = schema
        self.path = path
        self.in_memory = IN_MEMORY if in_memory is None else in_memory
        self._digest = hashlib.blake2b(digest_size=16)
        self._stack = ExitStack()
        self._pending: list[list[Any]] = [[] for _ in schema]
        self._characters = 0
        self._batches: list[pyarrow.RecordBatch] = []
        self._size = 0
        self._file: BinaryIO | None = None
        self._writer: Any = None

    def __enter__(self) -> "Spill":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def add(self, columns: Sequence[Sequence[Any]]) -> None:
        """Append rows, given as columns; raises ``OSError`` if the disk is full."""
        for pending, values in zip(self._pending, columns, strict=True):
            pending.extend(values)
            if values and isinstance(values[0], str):
                self._characters += sum(map(len, values))
        if len(self._pending[0]) >= ROWS or self._characters >= CHARACTERS:
            self._flush()

    def add_batch(self, batch: pyarrow.RecordBatch) -> None:
        """Append a batch of Arrow; raises ``OSError`` if the disk is full."""
        self._size += batch.nbytes
        for column in batch.columns:
            for buffer in column.buffers():
                self._digest.update(buffer or b"")
        if self._file is None and self._size <= self.in_memory:
            self._batches.append(batch)
            return
        if self._file is None:
            self._file = self._open()
            self._writer = pyarrow.ipc.new_file(self._file, self.schema)
        for each in (*self._batches, batch):
            self._writer.write_batch(each)
        self._batches = []

    def finish(self) -> StoredTable:
        """The table; raises ``OSError`` if the disk is full."""
        self._flush()
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

    def _flush(self) -> None:
        if self._pending[0]:
            arrays = [pyarrow.array(values, field.type) for values, field in zip(self._pending, self.schema)]
            self._pending, self._characters = [[] for _ in self.schema], 0
            self.add_batch(pyarrow.RecordBatch.from_arrays(arrays, schema=self.schema))

    def _open(self) -> BinaryIO:
        if self.path is None:
            return self._stack.enter_context(tempfile.TemporaryFile())
        self.path.parent.mkdir(parents=True, exist_ok=True)
        folder = self._stack.enter_context(scratch(self.path.parent))
        return self._stack.enter_context((folder / self.path.name).open("w+b"))


def stored_lines(path: Path) -> Column[str]:
    """The lines of a file of any size, as :func:`read_lines`; those of a large one lie in a file.

    Raises:
        UserError: if the file cannot be read, or the folder of temporary files is full.
    """
    with told("the system's folder of temporary files (TMPDIR)"), Spill(LINES) as spill:
        for block in read_line_blocks(path):
            spill.add([block])
        return spill.finish().column("line")
