from itertools import pairwise

import numpy as np
import pyarrow
import pytest
from pyarrow import compute

from translate.corpora.columns import column as column_module
from translate.corpora.columns.column import Column, joined, rows_where

WORDS = [f"w{number}" for number in range(23)]


@pytest.fixture
def column(monkeypatch: pytest.MonkeyPatch) -> Column[str]:
    """In arrays of 5, 0, 11 and 7 values, read three at a time."""
    monkeypatch.setattr(column_module, "ROWS", 3)
    edges = [0, 5, 5, 16, 23]
    return Column(pyarrow.array(WORDS[a:b], pyarrow.string()) for a, b in pairwise(edges))


def test_it_reads_as_the_list(column: Column[str]) -> None:
    assert len(column) == 23
    assert list(column) == WORDS
    assert [column[i] for i in range(-23, 23)] == [WORDS[i] for i in range(-23, 23)]
    for cut in (slice(None), slice(4, 17), slice(-3, None), slice(9, 2), slice(None, None, 5), slice(40, 50)):
        assert column[cut] == WORDS[cut]
    assert [value for block in column.blocks() for value in block] == WORDS
    assert column == WORDS
    assert column == Column.of(WORDS)
    assert column != WORDS[:-1]
    assert column != [*WORDS[:-1], "x"]
    with pytest.raises(IndexError):
        column[23]


def test_parts_of_it(column: Column[str]) -> None:
    assert column.part(3, 18) == WORDS[3:18]
    assert column.part(5, 5) == []
    assert column.take([22, 0, 7, 7]) == [WORDS[i] for i in (22, 0, 7, 7)]
    assert column.gather(np.array([16, 4, 15, 0, 16])) == [WORDS[i] for i in (16, 4, 15, 0, 16)]
    assert column.gather(np.array([], np.int64)) == []
    for rows in ([], [0], [22], [4, 5, 6], list(range(23))):
        assert column.without(rows) == [word for number, word in enumerate(WORDS) if number not in rows]


def test_what_stands_before_each_value(column: Column[str]) -> None:
    both = joined([column.part(2, 6).changed("<a> ".__add__), column.part(0, 3)])
    expected = ["<a> w2", "<a> w3", "<a> w4", "<a> w5", "w0", "w1", "w2"]
    assert both == expected
    assert both[3:5] == expected[3:5]
    assert both.gather(np.array([5, 0])) == ["w1", "<a> w2"]
    assert both.without([0, 4]) == [*expected[1:4], *expected[5:]]


def test_rows_where(column: Column[str]) -> None:
    wanted = pyarrow.array(["w3", "w17", "w22", "x"])
    found = rows_where(column, lambda array: compute.is_in(array, value_set=wanted))
    assert found.tolist() == [3, 17, 22]
