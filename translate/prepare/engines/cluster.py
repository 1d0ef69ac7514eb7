"""The engine of a cluster: the same functions and statements on Spark, whose workers share a file system."""

import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow

from translate.config.names import shorten
from translate.errors import UserError
from translate.prepare.engines.tables_and_views import BatchFunction, ShardOrder
from translate.prepare.shard_files import write_ranges

PARTITIONS = 64  # of an exchange; adaptive execution joins the small ones
_TYPES = {
    pyarrow.int8(): "tinyint",
    pyarrow.int32(): "int",
    pyarrow.int64(): "bigint",
    pyarrow.float64(): "double",
    pyarrow.string(): "string",
    pyarrow.binary(): "binary",
}
NEEDS = "--engine spark needs PySpark and Java 17; pip install 'seq2seq-translate[spark]'"


class Cluster:
    """Spark SQL.

    Args:
        folder: for what this process writes; every worker must see it, and the shards, under the same path.
        master: of the cluster, such as ``spark://host:7077``; ``local[2]`` are threads of this process.
        memory: bytes for an executor.
    """

    name = "spark"

    def __init__(self, folder: Path, *, master: str, memory: int) -> None:
        try:
            from pyspark.errors import PySparkException
            from pyspark.sql import SparkSession
        except ImportError as error:
            raise UserError(NEEDS) from error
        if shutil.which("java") is None:
            raise UserError(f"no java is found; {NEEDS}")
        folder.mkdir(parents=True, exist_ok=True)
        self.error, self.memory = PySparkException, memory
        builder = SparkSession.builder.master(master).appName("translate prepare")
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
        for key, value in settings.items():
            builder = builder.config(key, value)
        self.session: Any = builder.getOrCreate()

    def add_table(self, name: str, folder: Path) -> None:
        """See :class:`translate.prepare.engines.tables_and_views.DataEngine`; so are the others."""
        self._table(folder).createOrReplaceTempView(name)

    def add_view(self, name: str, statement: str) -> None:
        self._sql(statement).createOrReplaceTempView(name)

    def map(
        self,
        function: BatchFunction,
        table: Path,
        output: Path,
        schema: pyarrow.Schema,
        without: Sequence[Path] = (),
    ) -> None:
        if (output / "_SUCCESS").exists():
            return
        rows = self._table(table)
        for dropped in without:
            rows = rows.join(self._table(dropped).select("row"), "row", "left_anti")

        def run(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
            for batch in batches:
                if len(batch):
                    yield function(batch)

        self._write(rows.mapInArrow(run, ", ".join(f"{f.name} {_TYPES[f.type]}" for f in schema)), output)

    def store(self, statement: str, output: Path, *, ordered: bool = False) -> None:
        self._write(self._sql(statement), output)

    def query(self, statement: str) -> pyarrow.Table:
        found: pyarrow.Table = self._sql(statement).toArrow()
        return found

    def write_shards(self, statement: str, order: ShardOrder, notes: Path) -> None:
        from pyspark.sql import functions

        place = functions.expr(f"(order_key - {order.start}) div {order.width}")
        rows = self._sql(statement).withColumn("shard", place)
        parted = rows.repartitionByRange(order.count, "shard").sortWithinPartitions("order_key", "row")

        def run(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
            names = [shard.file for shard in write_ranges(batches, order, notes)]
            yield pyarrow.record_batch({"file": pyarrow.array(names, pyarrow.string())})

        self._told(parted.mapInArrow(run, "file string").collect)

    def close(self) -> None:
        self.session.stop()

    def _table(self, folder: Path) -> Any:
        return self._told(lambda: self.session.read.parquet(str(folder.resolve())))

    def _sql(self, statement: str) -> Any:
        return self._told(lambda: self.session.sql(statement))

    def _write(self, rows: Any, output: Path) -> None:
        """Spark writes aside and renames; the file ``_SUCCESS`` says that a table is whole."""
        self._told(lambda: rows.write.mode("overwrite").parquet(str(output.resolve())))

    def _told(self, work: Any) -> Any:
        try:
            return work()
        except self.error as error:
            text = str(error)
            if "No space left" in text:
                raise UserError(
                    "the disk is full while preparing: free some space, then start the same command again; "
                    "it goes on with what is whole"
                ) from error
            if "UserError" in text:  # of a function on a worker
                raise UserError(shorten(text.split("UserError: ")[-1].split("\n")[0], 300)) from error
            print(text[:6000], file=sys.stderr)  # what the workers say, for who runs the cluster
            raise UserError(f"Spark gave up: {shorten(text, 300)}") from error
