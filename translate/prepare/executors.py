"""Executors run functions over batches and SQL over tables: DuckDB on one machine, or Spark on a cluster.

A table is a folder of parquet files; a view is a statement with a name. Both executors understand the same
statements, and both write a table aside, so that a folder that exists holds a whole table.
"""

import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, connection, get_context, parent_process
from pathlib import Path
from typing import Any, TypeVar

import pyarrow
import pyarrow.parquet

from translate.config.names import shorten
from translate.errors import UserError, install, optional
from translate.prepare.shard_files import BATCH_PAIRS, Shard, ShardOrder
from translate.text.file_writing import aside, explain_write_errors, scratch

T = TypeVar("T")
BatchFunction = Callable[[pyarrow.RecordBatch], pyarrow.RecordBatch]

GROUP_PAIRS = 20_000  # of a row group: what a function sees at a time
PARTITIONS = 64  # of an exchange on a cluster; adaptive execution joins the small ones
_SHARE = 0.6  # of the memory is DuckDB's; the rest is for Python and for results
_FULL = (
    "the disk is full while preparing: free some space, then start the same command again; it goes on with "
    "what is whole"
)
_PARQUET = f"FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {GROUP_PAIRS}"
_SPARK = f"--spark needs PySpark and Java 17; {install('spark')}"
SQL_TYPES = {  # as both executors call them
    pyarrow.int8(): "tinyint",
    pyarrow.int32(): "int",
    pyarrow.int64(): "bigint",
    pyarrow.float64(): "double",
    pyarrow.string(): "string",
}


class OneMachine:
    """DuckDB within a limit of memory, and a pool of processes for functions.

    Args:
        folder: for what does not fit into memory.
        memory: bytes for a process.
        workers: processes that run functions, and threads of DuckDB; by default one a processor.
    """

    def __init__(self, folder: Path, *, memory: int, workers: int | None = None) -> None:
        duckdb = optional("duckdb", "translate prepare", "prepare")
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.memory, self.workers = folder, memory, workers or _processors()
        self._memory_error, self._error = duckdb.OutOfMemoryException, duckdb.Error
        settings: dict[str, Any] = {
            "memory_limit": f"{int(_SHARE * memory / 2**20)}MiB",
            "temp_directory": str(folder),
            "threads": self.workers,
            "preserve_insertion_order": False,
            "enable_external_file_cache": False,  # the system has one
            "allocator_flush_threshold": "16MiB",
            "allocator_bulk_deallocation_flush_threshold": "16MiB",
            "partitioned_write_flush_threshold": 50_000,  # rows of each thread
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        self.connection: Any = duckdb.connect(config=settings)
        self._run("SET enable_progress_bar = false")

    def add_table(self, name: str, folder: Path) -> None:
        """Give a folder of parquet files a name in statements."""
        self.add_view(name, f"SELECT * FROM {_files(folder)}")

    def add_view(self, name: str, statement: str) -> None:
        """Give a statement a name in statements."""
        self._run(f"CREATE OR REPLACE VIEW {name} AS {statement}")

    def store(self, statement: str, output: Path) -> None:
        """Write the rows of a statement to a new table."""
        with aside(output) as new:
            self._run(f"COPY ({statement}) TO {_quoted(new)} ({_PARQUET}, FILE_SIZE_BYTES '32MB')")

    def map(self, function: BatchFunction, table: Path, output: Path, schema: pyarrow.Schema) -> None:
        """Write a function's result for every batch of a table, but for what an earlier process has left."""
        output.mkdir(parents=True, exist_ok=True)
        missing = [path for path in sorted(table.glob("*.parquet")) if not (output / path.name).exists()]
        jobs = [(function, path, output / path.name, schema) for path in missing]
        if len(jobs) < 2:
            for job in jobs:
                map_file(*job)
            return
        killed = (
            "a process that prepares was killed, perhaps for lack of memory; start again with fewer "
            "--workers: whole parts are kept"
        )
        # A single worker is a process of its own, too: this one holds what DuckDB reads.
        in_processes(min(self.workers, len(jobs)), map_file, jobs, killed)

    def table(self, statement: str) -> pyarrow.Table:
        """The rows of a statement, which fit into memory."""
        result = self._run(statement)
        return self._explained(result.fetch_arrow_table)

    def write_shards(self, statement: str, order: ShardOrder) -> list[Shard]:
        """Write the shards of the rows of a statement, sorted by ``order_key``, then ``row``.

        The rows have these columns, ``shard``, and the columns of the shards. They go to a folder for every
        shard first, which bounds the memory. A range without a pair, of a small corpus, is an empty shard.
        """
        with explain_write_errors(self.folder), scratch(self.folder) as parts:
            target, found = _quoted(parts / "by_shard"), []
            self._run(f"COPY ({statement}) TO {target} ({_PARQUET}, PARTITION_BY (shard))")
            for number in range(order.count):
                part = parts / "by_shard" / f"shard={number}"
                rows = self._batches(f"FROM {_files(part)} ORDER BY order_key, row") if part.exists() else ()
                found.append(order.write(number, rows))
                shutil.rmtree(part, ignore_errors=True)
            return found

    def close(self) -> None:
        """Release memory and threads."""
        self.connection.close()

    def _run(self, statement: str) -> Any:
        return self._explained(lambda: self.connection.execute(statement))

    def _batches(self, statement: str) -> Iterator[pyarrow.RecordBatch]:
        reader = self._run(statement).fetch_record_batch(BATCH_PAIRS)
        while (batch := self._explained(lambda: next(reader, None))) is not None:
            yield batch

    def _explained(self, work: Callable[[], Any]) -> Any:
        """The result of ``work``; a lack of memory or disk becomes one sentence."""
        try:
            return work()
        except RuntimeError as error:  # DuckDB's answer to an interrupt
            if str(error).strip().lower().rstrip("!.") != "query interrupted":
                raise
            raise KeyboardInterrupt from error
        except (self._error, pyarrow.ArrowException, OSError) as error:
            text = " ".join(str(error).split())
            if "No space left" in text or "max_temp_directory_size" in text:
                raise UserError(_FULL) from error
            if isinstance(error, self._memory_error):
                raise UserError(
                    f"not enough memory for this step ({text[:150]}); start again with a larger --memory, or "
                    f"fewer --workers"
                ) from error
            raise


def map_file(function: BatchFunction, path: Path, output: Path, schema: pyarrow.Schema) -> None:
    """Write what a function makes of each row group of a parquet file; the result is written aside."""
    with aside(output) as new, pyarrow.parquet.ParquetWriter(new, schema, compression="zstd") as writer:
        # With pre_buffer, all that was read stays in memory until the file is closed.
        file = pyarrow.parquet.ParquetFile(path, pre_buffer=False)
        for number in range(file.num_row_groups):
            for batch in file.read_row_group(number).combine_chunks().to_batches():
                writer.write_batch(function(batch))


def _processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _files(folder: Path) -> str:
    return f"read_parquet({_quoted(folder / '*.parquet')}, hive_partitioning = false)"


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


def in_processes(
    count: int, function: Callable[..., T], jobs: Sequence[Sequence[Any]], killed: str
) -> list[T]:
    """Call a function with the arguments of each job, in ``count`` processes.

    They are not forked, which would copy the locks of DuckDB's and Arrow's threads, and they never see an
    interrupt, of a terminal for example: one that comes while they begin reaches this process behind that. A
    signal that is blocked stays blocked in a new process, even before it runs any of our code. After an
    error, the processes are ended in the midst of their work.

    Returns:
        Its results, in the order of the jobs.

    Raises:
        UserError: ``killed``, if a process was killed.
    """
    before = {process.pid for process in active_children()}
    with ProcessPoolExecutor(count, get_context("spawn"), initializer=_end_with_parent) as pool:
        try:
            unblocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                results = [pool.submit(function, *job) for job in jobs]
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)
            return [result.result() for result in results]
        except BaseException as error:
            for process in active_children():
                if process.pid not in before:
                    process.kill()
            if isinstance(error, BrokenProcessPool):
                raise UserError(killed) from error
            raise


def _end_with_parent() -> None:
    """End this worker as soon as the process that started it is gone, however it ended."""
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class Cluster:
    """Spark SQL, whose workers share a file system.

    Args:
        folder: for what this process writes; every worker must see it, and the shards, under the same path.
        master: of the cluster, such as ``spark://host:7077``; ``local[2]`` means threads of this process.
        memory: bytes for an executor of Spark.
    """

    def __init__(self, folder: Path, *, master: str, memory: int) -> None:
        try:
            from pyspark.errors import PySparkException
            from pyspark.sql import SparkSession
        except ImportError as error:
            raise UserError(_SPARK) from error
        if shutil.which("java") is None:
            raise UserError(f"no java is found; {_SPARK}")
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # which the workers start
        folder.mkdir(parents=True, exist_ok=True)
        self.memory, self._error = memory, PySparkException
        settings = {
            "spark.executor.memory": f"{memory // 2**20}m",
            "spark.driver.memory": f"{memory // 2**20}m",
            "spark.local.dir": str(folder.resolve()),
            "spark.sql.warehouse.dir": str((folder / "warehouse").resolve()),
            "spark.sql.shuffle.partitions": str(PARTITIONS),
            "spark.sql.parquet.compression.codec": "zstd",
            "spark.sql.execution.arrow.pyspark.enabled": "true",
            "spark.sql.session.timeZone": "UTC",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "ERROR",
        }
        builder = SparkSession.builder.master(master).appName("translate prepare")
        for key, value in settings.items():
            builder = builder.config(key, value)
        self.session: Any = builder.getOrCreate()

    def add_table(self, name: str, folder: Path) -> None:
        """See :class:`OneMachine`, as for the other functions."""
        self._table(folder).createOrReplaceTempView(name)

    def add_view(self, name: str, statement: str) -> None:
        self._sql(statement).createOrReplaceTempView(name)

    def store(self, statement: str, output: Path) -> None:
        self._write(self._sql(statement), output)

    def map(self, function: BatchFunction, table: Path, output: Path, schema: pyarrow.Schema) -> None:
        if (output / "_SUCCESS").exists():
            return

        def run(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
            for batch in batches:
                if len(batch):
                    yield function(batch)

        columns = ", ".join(f"{field.name} {SQL_TYPES[field.type]}" for field in schema)
        self._write(self._table(table).mapInArrow(run, columns), output)

    def table(self, statement: str) -> pyarrow.Table:
        rows = self._sql(statement)
        return self._explained(rows.toArrow)

    def write_shards(self, statement: str, order: ShardOrder) -> list[Shard]:
        parted = self._sql(statement).repartitionByRange(order.count, "shard")

        def run(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
            for number, shard in order.write_all(batches):
                yield pyarrow.RecordBatch.from_pylist([{"number": number, **shard._asdict()}])

        written = parted.sortWithinPartitions("order_key", "row").mapInArrow(
            run, "number bigint, file string, pairs bigint, sha256 string"
        )
        found = {row["number"]: Shard(*row[1:]) for row in self._explained(written.collect)}
        return [found.get(number) or order.write(number, ()) for number in range(order.count)]

    def close(self) -> None:
        self.session.stop()

    def _table(self, folder: Path) -> Any:
        return self._explained(lambda: self.session.read.parquet(str(folder.resolve())))

    def _sql(self, statement: str) -> Any:
        return self._explained(lambda: self.session.sql(statement))

    def _write(self, rows: Any, output: Path) -> None:
        new = output.resolve().with_name(f"{output.name}.new")
        self._explained(lambda: rows.write.mode("overwrite").parquet(str(new)))
        shutil.rmtree(output, ignore_errors=True)
        new.rename(output)

    def _explained(self, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except self._error as error:
            text = str(error)
            if "No space left" in text:
                raise UserError(_FULL) from error
            if "UserError" in text:  # of a function on a worker
                raise UserError(shorten(text.split("UserError: ")[-1].split("\n")[0], 300)) from error
            print(text[:6000], file=sys.stderr)  # what the workers report, for whoever runs the cluster
            raise UserError(f"Spark gave up: {shorten(text, 300)}") from error


Executor = OneMachine | Cluster
