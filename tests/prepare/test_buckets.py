"""Sorting on the disk gives the order that sorting in memory gives."""

from pathlib import Path

import numpy as np
import pyarrow
import pytest

from translate.prepare.engines import buckets
from translate.prepare.judging.row_keys import ORDER_BITS


@pytest.mark.parametrize("count", [0, 1, 997])
def test_rows_are_sorted_on_the_disk(count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buckets, "BUCKET_PAIRS", 100)
    monkeypatch.setattr(buckets, "HELD_BYTES", 3000)
    rng = np.random.default_rng(5)
    keys = rng.integers(0, 2**ORDER_BITS, count)
    keys[: count // 3] = keys[-1:].repeat(count // 3)  # equal keys are in the order of the rows
    rows = rng.permutation(count)
    table = pyarrow.table({"order_key": keys, "row": rows, "text": [f"text {row}" * 9 for row in rows]})
    batches = table.to_batches(max_chunksize=37)
    found = pyarrow.Table.from_batches(buckets.in_order(batches, count, tmp_path), table.schema)
    expected = sorted(zip(keys.tolist(), rows.tolist()))
    assert list(zip(found["order_key"].to_pylist(), found["row"].to_pylist())) == expected
    assert found["text"].to_pylist() == [f"text {row}" * 9 for _, row in expected]
    assert list(tmp_path.iterdir()) == []
