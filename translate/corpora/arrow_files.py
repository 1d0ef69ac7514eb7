"""Reads parquet and Arrow files of a stranger into a table that is valid and bounded."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow
import pyarrow.ipc
import pyarrow.parquet

from translate.config.names import shorten, shown_path
from translate.errors import UserError
from translate.text.reading import MAX_LINE, check_expansion, expansion_bound, opened

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Schema, Table

ROWS = 1024  # decoded at a time: one long value may stand for a million rows
_POINTER = b"version https://git-lfs"


def read_arrow(path: Path, suffix: str) -> "Table":
    """The table of a ``.parquet`` or ``.arrow`` file, which gzip may have packed.

    Raises:
        UserError: if the file cannot be read, holds damaged values or text that is not UTF-8, or expands to
            many times its size.
    """
    where = shown_path(path)
    with opened(path) as (file, bound):
        if file.peek(len(_POINTER)).startswith(_POINTER):
            raise UserError(f"{where}: this is a Git LFS pointer; fetch the content with 'git lfs pull'")
        try:
            source = pyarrow.OSFile(str(path)) if bound is None else _unpacked(file, bound, path)
            schema, batches = _batches(source, suffix)
            bound = bound or expansion_bound(path.stat().st_size)
            table = pyarrow.Table.from_batches(_bounded(batches, bound, path), schema)
            table.validate(full=True)
        except UserError:
            raise
        except (pyarrow.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
            reason = shorten(str(error).split("\n")[0], 100)
            raise UserError(f"{where}: not a readable {suffix[1:]} file ({reason})") from None
    return table


def _unpacked(file: Any, bound: int, path: Path) -> pyarrow.BufferReader:
    content = bytearray()
    while piece := file.read(MAX_LINE):
        content += piece
        check_expansion(len(content), bound, path)
    return pyarrow.BufferReader(content)


def _batches(source: Any, suffix: str) -> tuple["Schema", Iterable["RecordBatch"]]:
    if suffix == ".parquet":
        parquet = pyarrow.parquet.ParquetFile(source)
        return parquet.schema_arrow, parquet.iter_batches(batch_size=ROWS)
    stream = pyarrow.ipc.open_stream(source)
    return stream.schema, stream


def _bounded(batches: Iterable["RecordBatch"], bound: int, path: Path) -> Iterator["RecordBatch"]:
    """The batches; raises ``UserError`` as soon as their values take more than ``bound`` bytes."""
    size = 0
    for batch in batches:
        # a dictionary is shared between batches, and counted by none
        size += sum(column.nbytes for column in batch if not pyarrow.types.is_dictionary(column.type))
        check_expansion(size, bound, path)
        yield batch
