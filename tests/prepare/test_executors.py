"""A large table goes through a function part by part."""

from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet

from translate.prepare.executors import GROUP_PAIRS, map_file

GROUPS = 40
SCHEMA = pyarrow.schema({"row": pyarrow.int64()})


def test_what_was_read_is_given_back(tmp_path: Path) -> None:
    path, held = tmp_path / "in.parquet", []
    rng = np.random.default_rng(1)
    with pyarrow.parquet.ParquetWriter(path, SCHEMA, compression="none", use_dictionary=False) as writer:
        for _ in range(GROUPS):
            rows = pyarrow.array(rng.integers(0, 1 << 62, GROUP_PAIRS))
            writer.write_table(pyarrow.table({"row": rows}))

    def few(batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
        held.append(pyarrow.total_allocated_bytes())
        return batch.take(pyarrow.array(range(10)))

    before = pyarrow.total_allocated_bytes()
    map_file(few, path, tmp_path / "out.parquet", SCHEMA)
    found = pyarrow.parquet.read_table(tmp_path / "out.parquet")["row"]
    expected = [row for batch in _groups(path) for row in batch[:10]]
    assert found.to_pylist() == expected
    assert len(held) == GROUPS
    assert max(held) - before < path.stat().st_size / 4


def _groups(path: Path) -> list[list[int]]:
    file = pyarrow.parquet.ParquetFile(path)
    return [file.read_row_group(number)["row"].to_pylist() for number in range(GROUPS)]
