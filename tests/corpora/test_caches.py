"""The cache within its limit: what was used longest ago goes first, and what is in use stays."""

import os
import time
from pathlib import Path

import pytest

from translate.corpora import caches
from translate.corpora.caches import Removed, cache_directory, mark_used, tidy

DAY = 86400


def cached(cache: Path, name: str, size: int, days: float) -> Path:
    path = cache / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    os.utime(path, (time.time() - days * DAY,) * 2)
    return path


def names(cache: Path) -> set[str]:
    return {path.name for path in cache.rglob("*") if path.is_file()}


def test_what_was_used_longest_ago_makes_room(tmp_path: Path) -> None:
    cached(tmp_path, "encoded/old.arrow", 300, 9)
    cached(tmp_path, "encoded/older.arrow", 505, 11)
    cached(tmp_path, "images/new.arrow", 400, 2)
    kept = cached(tmp_path, "ctranslate2/model.bin", 4000, 30)  # has a limit of its own
    assert tidy(tmp_path, 1205, time.time()) == Removed(0, 0)
    assert tidy(tmp_path, 1204, time.time()) == Removed(1, 505)
    assert names(tmp_path) == {"old.arrow", "new.arrow", kept.name}
    mark_used(tmp_path / "encoded" / "old.arrow")
    assert tidy(tmp_path, 699, time.time()) == Removed(1, 400)
    assert names(tmp_path) == {"old.arrow", kept.name}


def test_files_in_use_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    began = time.time() - 2 * DAY
    cached(tmp_path, "encoded/own.arrow", 10, 1)  # a run that loads for days
    cached(tmp_path, "encoded/starting.arrow", 10, 0)
    cached(tmp_path, "encoded/other.arrow", 10, 3)
    assert tidy(tmp_path, 0, began) == Removed(1, 10)
    assert tidy(tmp_path, 0, time.time()) == Removed(1, 10)
    assert names(tmp_path) == {"starting.arrow"}
    monkeypatch.setattr(caches, "RECENT", -5)
    assert tidy(tmp_path, 0, time.time() + 10) == Removed(1, 10)


def test_what_a_killed_process_left_goes_after_days(tmp_path: Path) -> None:
    for name, days in (("old12345", 3), ("new12345", 1)):
        cached(tmp_path, f"encoded/.translate-writing-{name}/a.arrow", 10, days)
        os.utime(tmp_path / "encoded" / f".translate-writing-{name}", (time.time() - days * DAY,) * 2)
    assert tidy(tmp_path, 10**9, time.time()) == Removed(0, 0)
    assert [path.name for path in (tmp_path / "encoded").iterdir()] == [".translate-writing-new12345"]


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert cache_directory(None) is None
    assert cache_directory("/somewhere") == Path("/somewhere")
    monkeypatch.setenv("TRANSLATE_CACHE", str(tmp_path))
    assert cache_directory("auto") == tmp_path
    monkeypatch.delenv("TRANSLATE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory("auto") == tmp_path / "translate"
