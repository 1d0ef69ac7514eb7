"""Shards: Arrow files with pairs in a random order, with the same bytes from every engine."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import pyarrow

from translate.prepare.engines.tables_and_views import Shard, ShardOrder
from translate.text.aside import aside, write_text

BATCH_PAIRS = 10_000  # of a record batch in a shard
_DONE = ".json"  # of the note beside a shard's name that says that it is whole


def write_ranges(batches: Iterable[pyarrow.RecordBatch], order: ShardOrder, notes: Path) -> Iterator[Shard]:
    """Write sorted batches with ``order_key`` to the shards of their ranges, one after the other.

    Args:
        batches: in the order of ``order_key``.
        order: which ranges, and where.
        notes: folder for a note on each shard that is whole.
    """
    for number, parts in groupby(_pieces(batches, order), key=itemgetter(0)):
        yield write_shard((part for _, part in parts), order, number, notes)


def write_shard(parts: Iterable[pyarrow.RecordBatch], order: ShardOrder, number: int, notes: Path) -> Shard:
    """Write one shard aside; it has its name once it is whole."""
    name, pairs = order.name(number), 0
    with aside(order.folder / name) as new:
        with pyarrow.OSFile(str(new), "wb") as file, pyarrow.ipc.new_file(file, order.schema) as writer:
            for batch in _equal_batches(parts, order.schema):
                writer.write_batch(batch)
                pairs += len(batch)
        with new.open("rb") as written:
            digest = hashlib.file_digest(written, "sha256").hexdigest()
    shard = Shard(name, pairs, digest)
    write_text(notes / (name + _DONE), json.dumps(shard._asdict()))
    return shard


def whole_shards(order: ShardOrder, notes: Path) -> dict[int, Shard]:
    """The shards of an earlier process that are whole, by number."""
    found = {}
    for number in range(order.count):
        note = notes / (order.name(number) + _DONE)
        if note.exists() and (order.folder / order.name(number)).exists():
            found[number] = Shard(**json.loads(note.read_text(encoding="utf-8")))
    return found


def missing_ranges(order: ShardOrder, whole: Iterable[int]) -> str:
    """A condition for the rows of the shards that are not whole."""
    last = order.count - 1
    parts = []
    for number in sorted(set(range(order.count)) - set(whole)):
        below = "" if number == last else f" AND order_key < {order.start + (number + 1) * order.width}"
        parts.append(f"(order_key >= {order.start + number * order.width}{below})")
    return " OR ".join(parts) or "FALSE"


def _pieces(
    batches: Iterable[pyarrow.RecordBatch], order: ShardOrder
) -> Iterator[tuple[int, pyarrow.RecordBatch]]:
    """The batches, cut where the range changes, with the number of the range."""
    for batch in batches:
        numbers = (batch["order_key"].to_numpy() - order.start) // order.width
        begin = 0
        while begin < len(batch):
            number = int(numbers[begin])
            end = int(numbers.searchsorted(number, "right"))
            yield number, batch.slice(begin, end - begin)
            begin = end


def _equal_batches(
    parts: Iterable[pyarrow.RecordBatch], schema: pyarrow.Schema
) -> Iterator[pyarrow.RecordBatch]:
    """The rows in batches of ``BATCH_PAIRS``; what an engine cut, and its types, leave no trace."""
    waiting: list[pyarrow.RecordBatch] = []
    for part in parts:
        waiting.append(part.select(schema.names).cast(schema))
        if sum(map(len, waiting)) >= BATCH_PAIRS:
            whole = sum(map(len, waiting)) // BATCH_PAIRS * BATCH_PAIRS
            yield from _copied(waiting, whole)
            rest = pyarrow.Table.from_batches(waiting).slice(whole)
            waiting = rest.to_batches()
    yield from _copied(waiting, sum(map(len, waiting)))


def _copied(waiting: Sequence[pyarrow.RecordBatch], end: int) -> Iterator[pyarrow.RecordBatch]:
    if not waiting:
        return
    table = pyarrow.Table.from_batches(waiting)
    for start in range(0, end, BATCH_PAIRS):
        indices = pyarrow.array(range(start, min(start + BATCH_PAIRS, end)), pyarrow.int64())
        yield from table.take(indices).combine_chunks().to_batches()
