"""Shards: Arrow files with pairs in a random order, with the same bytes from every executor."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import pyarrow

from translate.corpora.prepared import FORMAT, MANIFEST
from translate.prepare.recipe import Recipe
from translate.prepare.row_keys import ORDER_BITS
from translate.text.bounded import checksum
from translate.text.file_writing import aside, write_text
from translate.version import __version__

REPORT = "report.json"
BATCH_PAIRS = 10_000  # of a record batch in a shard


class Shard(NamedTuple):
    """The file of a shard that was written."""

    file: str
    pairs: int
    sha256: str


@dataclass(frozen=True)
class ShardOrder:
    """Cuts a split into shards, by ranges of ``order_key``.

    Attributes:
        folder: of the shards.
        prefix: the name of the split.
        count: number of shards.
        schema: of the shards.
        start: the first position in the order.
    """

    folder: Path
    prefix: str
    count: int
    schema: pyarrow.Schema
    start: int = 0

    def name(self, number: int) -> str:
        """The file name of a shard."""
        return f"{self.prefix}-{number:05}-of-{self.count:05}.arrow"

    def number(self) -> str:
        """The number of a row's shard, in SQL."""
        width = (2**ORDER_BITS - self.start) // self.count + 1
        return f"least(CAST(floor((order_key - {self.start}) / {width}) AS INT), {self.count - 1})"

    def write(self, number: int, batches: Iterable[pyarrow.RecordBatch]) -> Shard:
        """Write a shard aside; it has its name once it is whole."""
        name, pairs = self.name(number), 0
        with aside(self.folder / name) as new:
            with pyarrow.OSFile(str(new), "wb") as file, pyarrow.ipc.new_file(file, self.schema) as writer:
                for batch in _equal_batches(batches, self.schema):
                    writer.write_batch(batch)
                    pairs += len(batch)
            return Shard(name, pairs, checksum(new))

    def write_all(self, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[tuple[int, Shard]]:
        """Write the shards of sorted batches with a column ``shard``."""
        for number, parts in groupby(_by_shard(batches), key=itemgetter(0)):
            yield number, self.write(number, (part for _, part in parts))


def _by_shard(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[tuple[int, pyarrow.RecordBatch]]:
    """The batches, cut where the shard changes, with its number."""
    for batch in batches:
        numbers = batch["shard"].to_numpy()
        begin = 0
        while begin < len(batch):
            number = int(numbers[begin])
            end = int(numbers.searchsorted(number, "right"))
            yield number, batch.slice(begin, end - begin)
            begin = end


def _equal_batches(
    parts: Iterable[pyarrow.RecordBatch], schema: pyarrow.Schema
) -> Iterator[pyarrow.RecordBatch]:
    """The rows in batches of ``BATCH_PAIRS``, so that an executor's own batches and types leave no trace."""
    held = schema.empty_table()
    for part in parts:
        rows = pyarrow.Table.from_batches([part.select(schema.names).cast(schema)])
        held = pyarrow.concat_tables([held, rows])
        while len(held) >= BATCH_PAIRS:
            yield _copied(held.slice(0, BATCH_PAIRS))
            held = held.slice(BATCH_PAIRS)
    if len(held):
        yield _copied(held)


def _copied(rows: pyarrow.Table) -> pyarrow.RecordBatch:
    """One batch in memory of its own: the bytes of a slice would depend on what it was cut from."""
    return rows.take(pyarrow.array(range(len(rows)), pyarrow.int64())).combine_chunks().to_batches()[0]


def content_hash(splits: dict[str, list[Shard]]) -> str:
    """One hash for all shards, which two executors must share."""
    text = "\n".join(f"{shard.file} {shard.sha256}" for shards in splits.values() for shard in shards)
    return hashlib.sha256(text.encode()).hexdigest()


def write_manifest(
    out: Path, recipe: Recipe, identity: str, splits: dict[str, list[Shard]], names: list[str]
) -> None:
    """Write the manifest, by which a reader finds the shards and their columns."""
    manifest = {
        "format": FORMAT,
        "languages": [recipe.source_language, recipe.target_language],
        "columns": names,
        "splits": {split: [shard._asdict() for shard in shards] for split, shards in splits.items()},
        "hash": content_hash(splits),
        "report": REPORT,
        "identity": identity,
        "version": __version__,
        "recipe": asdict(recipe),
    }
    write_text(out / MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
