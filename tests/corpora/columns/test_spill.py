import errno
import os
from pathlib import Path

import numpy as np
import pytest

from translate.corpora.columns import duplicates, mapped, spill
from translate.corpora.columns.column import Column
from translate.corpora.columns.duplicates import DIGESTS, digests_of, repeated, repeated_texts
from translate.corpora.columns.mapped import Mapped
from translate.corpora.columns.spill import PAIRS, Spill, StoredTable, stored_lines
from translate.errors import UserError
from translate.text.lines import read_lines

ROWS = [(f"s {n}", f"t {n % 7}" * (n % 3), n) for n in range(101)]


def spilled(path: Path | None = None, **limits: int) -> StoredTable:
    with Spill(PAIRS, path, **limits) as made:
        for begin in range(0, len(ROWS), 10):
            made.add(list(zip(*ROWS[begin : begin + 10])))
        return made.finish()


@pytest.mark.parametrize("in_memory", [0, 1 << 20])
def test_rows_come_back_from_memory_and_from_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_memory: int
) -> None:
    monkeypatch.setattr(spill, "ROWS", 16)
    monkeypatch.setattr(mapped, "LARGE", 0)  # whose pages are given back
    path = tmp_path / "folder" / "a.arrow"
    for where in (None, path):
        stored = spilled(where, in_memory=in_memory)
        for _ in range(2):  # pages that were given back are read again
            assert [list(stored.column(name)) for name in PAIRS.names] == [list(each) for each in zip(*ROWS)]
            for each in stored.mapped:
                each.release()
        assert bool(stored.mapped) == (in_memory == 0) == (stored.name is not None)
    assert path.exists() == (in_memory == 0)
    if in_memory == 0:
        assert [each.name for each in path.parent.iterdir()] == ["a.arrow"]
        assert Mapped.open(path).table.equals(stored.table)


def test_the_name_is_of_the_content() -> None:
    names = {spilled(in_memory=0).name for _ in range(2)}
    assert len(names) == 1
    wanted = np.arange(len(ROWS)) != 50
    assert spilled(in_memory=0).filtered(wanted).column("number") == [n for n in range(101) if n != 50]


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(spill, "sync", full)
    with pytest.raises(OSError, match="No space"):
        spilled(tmp_path / "a.arrow", in_memory=0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("at_once", [1 << 20, 13])
def test_repetitions_are_those_that_a_set_finds(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(duplicates, "AT_ONCE", at_once)
    generator = np.random.default_rng(3)
    pairs = [(f"a{n}", f"b{n % 5}") for n in generator.integers(0, 60, 200)]
    pairs += [("ab", "c"), ("a", "bc")]  # not the same
    with Spill(DIGESTS) as made:
        for begin in range(0, len(pairs), 17):
            made.add_batch(digests_of(pairs[begin : begin + 17]))
        found = repeated(made.finish())
    assert found.tolist() == [pair in pairs[:number] for number, pair in enumerate(pairs)]


@pytest.mark.parametrize("in_memory", [0, 1 << 24])
def test_lines_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_memory: int) -> None:
    monkeypatch.setattr(spill, "IN_MEMORY", in_memory)
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\r\n\ntwo \xe2\x80\xa8 three\n" * 50_000 + b"last")
    found = stored_lines(path)
    assert list(found) == read_lines(path)
    assert bool(found.mapped) == (in_memory == 0)
    path.write_bytes(b"one\n\xff\n")
    with pytest.raises(UserError, match=r"a\.txt, line 2: not UTF-8"):
        stored_lines(path)


def test_texts_that_repeat_an_earlier_one() -> None:
    texts = ["a", " b", "", "b ", "a b", " ", "a", "ab"]
    assert repeated_texts(Column.of(texts)).tolist() == [n in (3, 5, 6) for n in range(8)]
    assert repeated_texts(Column.of([])).tolist() == []
