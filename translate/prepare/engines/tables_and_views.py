"""What an engine can do: run a function over the batches of a table, and statements over tables."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import pyarrow

from translate.prepare.judging.row_keys import ORDER_BITS

BatchFunction = Callable[[pyarrow.RecordBatch], pyarrow.RecordBatch]


class Shard(NamedTuple):
    """A written shard."""

    file: str
    pairs: int
    sha256: str


@dataclass(frozen=True)
class ShardOrder:
    """How a split is cut into shards: by ranges of ``order_key``.

    Attributes:
        folder: of the shards.
        prefix: the name of the split.
        count: number of shards.
        start: the first place in the order; ``(order_key - start) // width`` is the number of a pair's shard.
        schema: of the shards.
    """

    folder: Path
    prefix: str
    count: int
    schema: pyarrow.Schema
    start: int = 0

    @property
    def width(self) -> int:
        """How many values of ``order_key`` one shard takes."""
        return (2**ORDER_BITS - self.start) // self.count + 1

    def name(self, number: int) -> str:
        """The file name of a shard."""
        return f"{self.prefix}-{number:05}-of-{self.count:05}.arrow"


class DataEngine(Protocol):
    """One machine, or a cluster. A table is a folder of parquet files; a view is a statement with a name.

    Attributes:
        memory: bytes that a process may take.
    """

    name: str
    memory: int

    def add_table(self, name: str, folder: Path) -> None:
        """Give a folder of parquet files a name in statements."""

    def add_view(self, name: str, statement: str) -> None:
        """Give a statement a name in statements."""

    def map(
        self,
        function: BatchFunction,
        table: Path,
        output: Path,
        schema: pyarrow.Schema,
        without: Sequence[Path] = (),
    ) -> None:
        """Write a function of every batch of a table; leave out the rows of other tables."""

    def store(self, statement: str, output: Path, *, ordered: bool = False) -> None:
        """Write the rows of a statement to a new table.

        ``ordered`` is for a table that :meth:`map` leaves out; it has the column ``row``.
        """

    def query(self, statement: str) -> pyarrow.Table:
        """The result of a statement that is small."""

    def write_shards(self, statement: str, order: ShardOrder, notes: Path) -> None:
        """Write the rows of a statement, which has ``order_key``, ``row`` and the columns of the shards.

        They are in the order of ``order_key``, then ``row``. Ranges without a row get no shard.
        """

    def close(self) -> None:
        """Release memory and processes."""
