"""Columns read as lists do, from memory and from files, and give their memory back."""

import errno
import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow
import pytest

from translate.corpora import columns
from translate.corpora.columns import Column, Mapped, Spill, StoredTable, stored_lines
from translate.corpora.split import schema_of
from translate.errors import UserError
from translate.text.lines import read_lines

WORDS = [f"w{number}" for number in range(23)]
ROWS = [(f"s {n}", f"t {n % 7}" * (n % 3), n) for n in range(101)]


@pytest.fixture
def column(monkeypatch: pytest.MonkeyPatch) -> Column[str]:
    """In arrays of 5, 0, 11 and 7 values, read three at a time."""
    monkeypatch.setattr(columns, "ROWS", 3)
    edges = [0, 5, 5, 16, 23]
    return Column(
        pyarrow.chunked_array([pyarrow.array(WORDS[a:b], pyarrow.string()) for a, b in pairwise(edges)])
    )


def test_it_reads_as_the_list(column: Column[str]) -> None:
    assert len(column) == 23
    assert list(column) == WORDS
    assert [column[i] for i in range(-23, 23)] == [WORDS[i] for i in range(-23, 23)]
    for cut in (slice(None), slice(4, 17), slice(-3, None), slice(9, 2), slice(None, None, 5), slice(40, 50)):
        assert column[cut] == WORDS[cut]
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


def spilled(path: Path | None = None) -> StoredTable:
    with Spill(schema_of(("source", "target", "numbers")), path) as made:
        for begin in range(0, len(ROWS), 10):
            made.add(list(zip(*ROWS[begin : begin + 10])))
        return made.finish()


@pytest.mark.parametrize("in_memory", [0, 1 << 20])
def test_rows_come_back_from_memory_and_from_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_memory: int
) -> None:
    monkeypatch.setattr(columns, "IN_MEMORY", in_memory)
    path = tmp_path / "folder" / "a.arrow"
    for where in (None, path):
        stored = spilled(where)
        for _ in range(2):  # pages that were given back are read again
            found = [list(stored.column(name)) for name in stored.table.column_names]
            assert found == [list(side) for side in zip(*ROWS)]
        is_file = in_memory == 0 or where is not None
        assert bool(stored.mapped) == is_file == (stored.name is not None)
        assert stored.name == spilled(where).name
    assert [file.name for file in path.parent.iterdir()] == ["a.arrow"]
    assert Mapped.open(path).table.equals(stored.table)
    wanted = np.arange(len(ROWS)) != 50
    assert stored.filtered(wanted).column("numbers") == [n for n in range(101) if n != 50]


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(columns, "sync", full)
    with pytest.raises(OSError, match="No space"):
        spilled(tmp_path / "a.arrow")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("in_memory", [0, 1 << 24])
def test_lines_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_memory: int) -> None:
    monkeypatch.setattr(columns, "IN_MEMORY", in_memory)
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\r\n\ntwo \xe2\x80\xa8 three\n" * 20_000 + b"last")
    found = stored_lines(path)
    assert list(found) == read_lines(path)
    assert bool(found.mapped) == (in_memory == 0)
    path.write_bytes(b"one\n\xff\n")
    with pytest.raises(UserError, match=r"a\.txt, line 2: not UTF-8; convert"):
        stored_lines(path)
    path.write_bytes(b"\x7fELF\0\n\xff\n")
    with pytest.raises(UserError, match=r"a\.txt, line 2: not UTF-8; it is no text"):
        stored_lines(path)
    path.write_bytes(b"PK\x03\x04\xff\n")
    with pytest.raises(UserError, match="not UTF-8; it is packed, as Word and Excel files are"):
        stored_lines(path)
