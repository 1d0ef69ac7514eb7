from itertools import chain

import numpy as np
import pytest

from translate.corpora import orders
from translate.corpora.orders import EveryRow, permuted


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 63, 64, 65, 1009])
def test_an_order_has_every_row_once(count: int) -> None:
    assert sorted(permuted(np.arange(count), count, [5, 7])) == list(range(count))


def test_an_order_looks_random() -> None:
    count = 50_021
    rows = permuted(np.arange(count), count, [3])
    assert abs(np.corrcoef(rows, np.arange(count))[0, 1]) < 0.02
    assert abs(np.corrcoef(rows[1:], rows[:-1])[0, 1]) < 0.02
    for part in np.array_split(rows, 10):  # each part is a sample of the whole
        tenths = np.histogram(part, 10, (0, count))[0]
        assert tenths.min() > 420
        assert tenths.max() < 580


def test_blocks_together_have_every_row_once(monkeypatch: pytest.MonkeyPatch) -> None:
    order = EveryRow(1009, 5)
    assert order.num_blocks(0) == 1
    assert order.rows(0, 0).tolist() == list(range(1009))
    monkeypatch.setattr(orders, "BLOCK", 100)
    assert order.num_blocks(0) == 11
    epochs = [[order.rows(epoch, block).tolist() for block in range(11)] for epoch in (0, 1)]
    for blocks in epochs:
        assert {len(block) for block in blocks} <= {91, 92}
        assert sorted(chain.from_iterable(blocks)) == list(range(1009))
    assert epochs[0] != epochs[1]
