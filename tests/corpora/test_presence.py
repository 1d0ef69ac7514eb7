"""Files that are missing, or are no files, are refused with their setting before any file is read."""

import os
from pathlib import Path

import pytest

import translate.text.lines
from translate.config.data import data_config
from translate.corpora.local_files import check_present
from translate.errors import UserError


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("train.en", "train.fr", "dev.en"):
        (tmp_path / name).write_text("a\n")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)

    def refuse(path: Path) -> bytes:
        raise AssertionError(f"{path} was read")

    monkeypatch.setattr(translate.text.lines, "opened", refuse)


def check(**values: object) -> None:
    train = {"source": "train.en", "target": "train.fr"}
    check_present(data_config({"name": "files", "kind": "files", "train": train, **values}))


@pytest.mark.parametrize(
    ("split", "files", "message"),
    [
        ("train", {"source": "trian.en"}, "source: trian.en: no such file; did you mean train.en?"),
        ("test", {"target": "no/dev.fr"}, "target: no/dev.fr: no such file, and no such folder no"),
        ("train", {"target": "pipe"}, "target: pipe: expected a file, got a pipe or a device"),
    ],
)
def test_a_file_that_cannot_be_read(split: str, files: dict[str, str], message: str) -> None:
    with pytest.raises(UserError) as told:
        check(**{split: {"source": "train.en", "target": "train.fr", **files}})
    assert str(told.value) == f"data.{split}.{message}"


@pytest.mark.parametrize(("path", "problem"), [("train.en", "is a file"), ("none", "does not exist")])
def test_a_folder_that_is_none(path: str, problem: str) -> None:
    with pytest.raises(UserError) as told:
        check_present(data_config({"name": "multi30k", "kind": "hub", "path": path}))
    assert str(told.value) == f"data.path={path}: {problem}; expected the directory of the corpus 'multi30k'"
