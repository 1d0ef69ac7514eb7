"""Files of clients: shared by all workers, bounded, and reached by their names alone."""

import os
from pathlib import Path

import pytest

from translate.serve.store import Store, new_name


def test_another_worker_finds_a_file(tmp_path: Path) -> None:
    name = new_name("docx")
    Store(tmp_path).put(name, {"status": "done"}, b"a\nb")
    assert Store(tmp_path).get(name) == ({"status": "done"}, b"a\nb")
    Store(tmp_path).remove(name)
    assert Store(tmp_path).get(name) is None


def test_the_oldest_make_room(tmp_path: Path) -> None:
    store, names = Store(tmp_path, most=3, most_bytes=1_000), [new_name() for _ in range(5)]
    for name in names:
        store.put(name, {}, b"x" * 100)
    assert len(store.names()) == 3
    store.put(last := new_name(), {}, b"x" * 950)
    assert store.names() == [last]
    os.utime(tmp_path / last, (0, 0))
    assert Store(tmp_path, most_seconds=float("inf")).get(last) is not None
    assert store.get(last) is None


def test_a_file_that_is_touched_is_kept(tmp_path: Path) -> None:
    store, name = Store(tmp_path), new_name()
    store.touch(name)
    store.put(name, {"status": "translating"})
    os.utime(tmp_path / name, (0, 0))
    store.touch(name)
    assert store.get(name) == ({"status": "translating"}, b"")


@pytest.mark.parametrize("name", ["", "..", "../x", "a", "A" * 32, f"{'a' * 32}.exe/..", None, 7, ["a"]])
def test_a_name_is_no_path(tmp_path: Path, name: object) -> None:
    assert Store(tmp_path).get(name) is None


def test_no_file_outside_is_removed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.touch()
    for name in ("../outside", str(outside), ""):
        Store(tmp_path / "store").remove(name)
    assert outside.exists()
