"""The engine of one machine: DuckDB, which spills to the disk, and a pool of processes for functions."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet

from translate.errors import UserError
from translate.prepare.engines.buckets import in_order
from translate.prepare.engines.tables_and_views import BatchFunction, ShardOrder
from translate.prepare.shard_files import write_ranges
from translate.prepare.worker_pool import uninterrupted, worker_processes
from translate.text.aside import aside

PART = "part-0.parquet"
READ_PAIRS = 20_000  # of a batch that a function sees
_SHARE = 0.6  # of the memory is DuckDB's; the rest is for Python and for results


class OneMachine:
    """DuckDB within a limit of memory, beside a folder to which it spills.

    Args:
        folder: for what does not fit into memory.
        memory: bytes for a process.
        workers: processes that run functions, and threads of DuckDB.
    """

    name = "duckdb"

    def __init__(self, folder: Path, *, memory: int, workers: int) -> None:
        check_duckdb()
        import duckdb

        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.memory, self.workers = folder, memory, workers
        self.errors = (duckdb.OutOfMemoryException, duckdb.IOException, duckdb.Error)
        settings: dict[str, Any] = {
            "memory_limit": f"{int(_SHARE * memory / 2**20)}MiB",
            "temp_directory": str(folder),
            "threads": workers,
            "preserve_insertion_order": False,
            "enable_external_file_cache": False,  # the system has one
            "allocator_flush_threshold": "16MiB",
            "allocator_bulk_deallocation_flush_threshold": "16MiB",
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        self.connection: Any = duckdb.connect(config=settings)
        self.connection.execute("SET enable_progress_bar = false")

    def add_table(self, name: str, folder: Path) -> None:
        """See :class:`translate.prepare.engines.tables_and_views.DataEngine`; so are the others."""
        pattern = str(folder / "*.parquet").replace("'", "''")
        self._run(f"CREATE OR REPLACE VIEW {name} AS SELECT * FROM read_parquet('{pattern}')")

    def add_view(self, name: str, statement: str) -> None:
        self._run(f"CREATE OR REPLACE VIEW {name} AS {statement}")

    def map(
        self,
        function: BatchFunction,
        table: Path,
        output: Path,
        schema: pyarrow.Schema,
        without: Sequence[Path] = (),
    ) -> None:
        output.mkdir(parents=True, exist_ok=True)
        waiting = [path for path in sorted(table.glob("*.parquet")) if not (output / path.name).exists()]
        jobs = [(function, path, output / path.name, schema, tuple(without)) for path in waiting]
        if len(jobs) < 2:
            for job in jobs:
                map_file(*job)
            return
        # One worker is a process of its own, too: this one holds what DuckDB reads.
        try:
            with worker_processes(min(self.workers, len(jobs))) as pool:
                with uninterrupted():
                    results = [pool.submit(map_file, *job) for job in jobs]
                for result in results:
                    result.result()
        except BrokenProcessPool as error:
            raise UserError(
                "a process that prepares was killed, perhaps for lack of memory; start again with fewer "
                "--workers: whole parts are kept"
            ) from error

    def store(self, statement: str, output: Path, *, ordered: bool = False) -> None:
        with aside(output) as new:
            new.mkdir()
            file = str(new / PART).replace("'", "''")
            order = " ORDER BY row" if ordered else ""
            self._run(f"COPY ({statement}{order}) TO '{file}' (FORMAT parquet, COMPRESSION zstd)")

    def query(self, statement: str) -> pyarrow.Table:
        found: pyarrow.Table = self._told(lambda: self._run(statement).fetch_arrow_table())
        return found

    def write_shards(self, statement: str, order: ShardOrder, notes: Path) -> None:
        total = self.query(f"SELECT count(*) AS n FROM ({statement}) s")["n"][0].as_py()
        rows = self._guarded(self._told(lambda: self._run(statement).fetch_record_batch(READ_PAIRS)))
        for _ in write_ranges(in_order(rows, total, self.folder), order, notes):
            pass

    def close(self) -> None:
        self.connection.close()

    def _run(self, statement: str) -> Any:
        return self._told(lambda: self.connection.execute(statement))

    def _guarded(self, batches: Any) -> Iterator[pyarrow.RecordBatch]:
        iterator = iter(batches)
        while (batch := self._told(lambda: next(iterator, None))) is not None:
            yield batch

    def _told(self, work: Callable[[], Any]) -> Any:
        """The result of ``work``; a lack of memory or disk is told in one sentence."""
        try:
            return work()
        except RuntimeError as error:  # DuckDB's answer to an interrupt
            if str(error).strip().lower().rstrip("!.") != "query interrupted":
                raise
            raise KeyboardInterrupt from error
        except (*self.errors, pyarrow.ArrowException, OSError) as error:
            text = " ".join(str(error).split())
            if "No space left" in text or "max_temp_directory_size" in text:
                raise UserError(
                    "the disk is full while preparing: free some space, then start the same command again; "
                    "it goes on with what is whole"
                ) from error
            if isinstance(error, self.errors[0]):
                raise UserError(
                    f"not enough memory for this step ({text[:150]}); start again with a larger --memory, or "
                    f"fewer --workers"
                ) from error
            raise


def map_file(
    function: BatchFunction, path: Path, output: Path, schema: pyarrow.Schema, without: Sequence[Path]
) -> None:
    """Write the function of each batch of a parquet file; the result has its name once it is whole."""
    with aside(output) as new, pyarrow.parquet.ParquetWriter(new, schema, compression="zstd") as writer:
        # With pre_buffer, all that was read stays in memory until the file is closed.
        for batch in pyarrow.parquet.ParquetFile(path, pre_buffer=False).iter_batches(READ_PAIRS):
            left = _without(batch, without)
            if len(left):
                writer.write_batch(function(left))


def _without(batch: pyarrow.RecordBatch, tables: Sequence[Path]) -> pyarrow.RecordBatch:
    if not len(batch):
        return batch
    rows = batch["row"].to_numpy()
    near = [("row", ">=", int(rows.min())), ("row", "<=", int(rows.max()))]
    for table in tables:
        dropped = pyarrow.parquet.read_table(table, columns=["row"], filters=near)["row"].to_numpy()
        if len(dropped):
            keep = ~np.isin(batch["row"].to_numpy(), dropped)
            batch = batch.filter(pyarrow.array(keep))
    return batch


def check_duckdb() -> None:
    """Raise :class:`UserError` if DuckDB is not installed."""
    if find_spec("duckdb") is None:
        raise UserError("translate prepare needs DuckDB; pip install 'seq2seq-translate[prepare]'")


def processors() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
