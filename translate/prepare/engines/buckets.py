"""Sorts more rows than fit into memory: first into buckets on the disk, then each bucket by itself.

The keys are spread evenly, so buckets are of equal size, and what is in memory does not depend on the number
of rows. (DuckDB's own sort holds the texts of more rows at a time than a small limit of memory has room for.)
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow

from translate.prepare.judging.row_keys import ORDER_BITS
from translate.text.aside import scratch, told

BUCKET_PAIRS = 50_000  # of a bucket, about
MAX_BUCKETS = 400  # files that are open at once
HELD_BYTES = 1 << 26  # of batches that are distributed together, so that the parts of a bucket are not tiny


def in_order(
    batches: Iterable[pyarrow.RecordBatch], total: int, folder: Path
) -> Iterator[pyarrow.RecordBatch]:
    """The rows in the order of ``order_key``, then ``row``.

    Args:
        batches: in any order.
        total: number of rows, about.
        folder: for the buckets.
    Raises:
        UserError: if the disk is full.
    """
    count = min(MAX_BUCKETS, max(1, -(-total // BUCKET_PAIRS)))
    width = 2**ORDER_BITS // count + 1
    with told(folder), scratch(folder) as place:
        paths = [place / f"{number:04}.arrow" for number in range(count)]
        _distribute(batches, paths, width)
        for path in paths:
            if path.exists():
                yield from _sorted(path)
                path.unlink()


def _distribute(batches: Iterable[pyarrow.RecordBatch], paths: list[Path], width: int) -> None:
    with ExitStack() as stack:
        writers: dict[int, Any] = {}
        for table in _gathered(batches):
            numbers = table["order_key"].to_numpy() // width
            places = np.argsort(numbers, kind="stable")
            table = table.take(pyarrow.array(places)).combine_chunks()
            found, begins = np.unique(numbers[places], return_index=True)
            for number, begin, end in zip(found.tolist(), begins, [*begins[1:], len(table)]):
                if number not in writers:
                    file = stack.enter_context(pyarrow.OSFile(str(paths[number]), "wb"))
                    writers[number] = stack.enter_context(pyarrow.ipc.new_stream(file, table.schema))
                writers[number].write_table(table.slice(begin, end - begin))


def _gathered(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.Table]:
    held: list[pyarrow.RecordBatch] = []
    size = 0
    for batch in batches:
        if len(batch):
            held.append(batch)
            size += batch.nbytes
        if size >= HELD_BYTES:
            yield pyarrow.Table.from_batches(held)
            held, size = [], 0
    if held:
        yield pyarrow.Table.from_batches(held)


def _sorted(path: Path) -> Iterator[pyarrow.RecordBatch]:
    with pyarrow.OSFile(str(path), "rb") as file:
        table = pyarrow.ipc.open_stream(file).read_all()
    places = np.lexsort((table["row"].to_numpy(), table["order_key"].to_numpy()))
    yield from table.take(pyarrow.array(places)).combine_chunks().to_batches()
