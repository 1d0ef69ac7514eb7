"""Spark writes the same bytes as one machine, for every kind of statement and function."""

import os
import shutil
import sys
from pathlib import Path

import pytest

pytest.importorskip("duckdb", reason="DuckDB is not installed")
pytest.importorskip("pyspark", reason="PySpark is not installed")
if shutil.which("java") is None:
    pytest.skip("Java is not installed", allow_module_level=True)

from tests.prepare.corpora import grammar_pairs, prepare, recipe, write_pairs
from translate.prepare.executors import Cluster
from translate.prepare.preparation import Preparation


@pytest.mark.slow
def test_one_machine_and_spark_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    pairs = grammar_pairs(500)
    strange = [*pairs[:40], ("a 12", "b 13"), ("", "x"), (pairs[3][0].upper(), pairs[3][1])]
    files = {
        **write_pairs(tmp_path, "a", [*pairs[:300], *strange]),
        "test": write_pairs(tmp_path, "t", pairs[290:310]),
    }
    given = recipe(
        {"a": files, "b": write_pairs(tmp_path, "b", pairs[250:])},
        shard_pairs=100,
        validation_pairs=20,
        overlap="side",
        max_partners=3,
        links={"write": True},
    )
    alone = prepare(given, tmp_path / "alone")
    together = Preparation(
        given,
        tmp_path / "together",
        lambda folder: Cluster(folder, master="local[2]", memory=2**29),
        lambda note: None,
    ).run()
    assert together == alone
    shards = sorted(path.name for path in (tmp_path / "alone").glob("*.arrow"))
    assert len(shards) > 3
    for name in shards:
        assert (tmp_path / "alone" / name).read_bytes() == (tmp_path / "together" / name).read_bytes()
