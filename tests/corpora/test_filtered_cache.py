"""Large corpora are filtered once, as long as their files stay as they are."""

from pathlib import Path
from typing import Any

import pytest

from tests.corpora.written import write
from translate.config.data import data_config
from translate.corpora.columns import spill
from translate.corpora.corpus import Corpus, load_corpus
from translate.errors import UserError
from translate.text.lines import read_line_blocks


@pytest.fixture
def values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setattr(spill, "IN_MEMORY", 0)
    lines = [f"line {n % 40}" for n in range(50)] + [""]
    files = {side: write(tmp_path / f"train.{side}", lines) for side in ("source", "target")}
    return {"name": "files", "kind": "files", "train": files, "drop_duplicates": True, "validation_pairs": 3}


def load(values: dict[str, Any], cache: Path | None) -> Corpus:
    return load_corpus(data_config(values), cache)


def test_the_second_time_it_comes_from_the_cache(
    tmp_path: Path, values: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    cache = tmp_path / "cache"
    first = load(values, cache)
    assert (len(first.train), first.num_read) == (37, 51)
    assert first.dropped == {"train": {"empty": 1, "duplicate": 10}}
    assert "filtered corpus from" not in capsys.readouterr().out
    assert sorted(path.suffix for path in (cache / "corpora").iterdir()) == [".arrow", ".json"]
    second = load(values, cache)
    assert "filtered corpus from" in capsys.readouterr().out
    assert second == first
    assert second.train.fingerprint == first.train.fingerprint
    assert load(values, None) == first
    for damaged in (cache / "corpora").iterdir():
        content = damaged.read_bytes()
        damaged.unlink()  # `first` has the old file
        damaged.write_bytes(content[: len(content) // 2])
        assert load(values, cache) == first


def test_other_files_or_filters_are_read_again(tmp_path: Path, values: dict[str, Any]) -> None:
    before = load(values, tmp_path / "cache")
    for side in ("source", "target"):
        with (tmp_path / f"train.{side}").open("a") as file:
            file.write("one more\n")
    after = load(values, tmp_path / "cache")
    assert len(after.train) == len(before.train) + 1
    assert after.train.fingerprint != before.train.fingerprint
    assert len(load({**values, "drop_duplicates": False}, tmp_path / "cache").train) == 48


def test_a_file_that_changes_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.en"
    path.write_text("a line\n" * 100_000)
    blocks = read_line_blocks(path)
    next(blocks)
    with path.open("a") as file:
        file.write("one more\n")
    with pytest.raises(UserError, match=r"a\.en: changed while it was read"):
        list(blocks)
