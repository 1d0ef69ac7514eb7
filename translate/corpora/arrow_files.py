"""Reads parquet and Arrow files of a stranger batch by batch, each valid, and all of them bounded."""

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
    from pyarrow import RecordBatch, Schema

ROWS = 1024  # decoded at a time: one long value may stand for a million rows
_FILE = b"ARROW1"  # the file format of Arrow; the other is a stream
_POINTER = b"version https://git-lfs"


def read_arrow(path: Path, suffix: str) -> tuple["Schema", Iterator["RecordBatch"]]:
    """The schema and the batches of a ``.parquet`` or ``.arrow`` file, which gzip may have packed.

    Raises:
        UserError: if the file cannot be read, holds damaged values or text that is not UTF-8, or expands to
            many times its size; also while the batches are read.
    """
    found = _read(path, suffix)
    schema = next(found)
    return schema, found


def _read(path: Path, suffix: str) -> Iterator[Any]:
    """The schema, then the batches."""
    where = shown_path(path)
    with opened(path) as (file, bound):
        if file.peek(len(_POINTER)).startswith(_POINTER):
            raise UserError(f"{where}: this is a Git LFS pointer; fetch the content with 'git lfs pull'")
        try:
            source = pyarrow.OSFile(str(path)) if bound is None else _unpacked(file, bound, path)
            schema, batches = _batches(source, suffix)
            yield schema
            bound = bound or expansion_bound(path.stat().st_size)
            for batch in _bounded(batches, bound, path):
                batch.validate(full=True)
                yield batch
        except UserError:
            raise
        except (pyarrow.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
            reason = shorten(str(error).split("\n")[0], 100)
            raise UserError(f"{where}: not a readable {suffix[1:]} file ({reason})") from None


def _unpacked(file: Any, bound: int, path: Path) -> pyarrow.BufferReader:
    content = bytearray()
    while piece := file.read(MAX_LINE):
        content += piece
        check_expansion(len(content), bound, path)
    return pyarrow.BufferReader(content)


def _batches(source: Any, suffix: str) -> tuple["Schema", Iterable["RecordBatch"]]:
    if suffix == ".parquet":
        parquet = pyarrow.parquet.ParquetFile(source, pre_buffer=False)  # or all that was read stays
        return parquet.schema_arrow, parquet.iter_batches(batch_size=ROWS)
    if source.read(len(_FILE)) == _FILE:
        file = pyarrow.ipc.open_file(source)
        return file.schema, (file.get_batch(number) for number in range(file.num_record_batches))
    source.seek(0)
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
