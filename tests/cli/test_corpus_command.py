from pathlib import Path

import pytest

from tests.cli.commands import Command
from tests.disks import largest_file
from translate.config.data import data_config
from translate.corpora.corpus import load_corpus

SIZES = ("data.num_train=23", "data.num_validation=5", "data.num_test=7")


def written(folder: Path) -> dict[str, list[str]]:
    return {path.name: path.read_text(encoding="utf-8").splitlines() for path in folder.iterdir()}


def test_the_grammar_is_written_with_its_links(tmp_path: Path, translate_command: Command) -> None:
    out = tmp_path / "a" / "b"
    result = translate_command("corpus", "--data", "grammar", "--out", out, *SIZES)
    assert (result.code, result.err) == (0, "")
    told = "grammar en-fr, pairs: train 23 with gold links, validation 5 with gold links,"
    assert result.out.startswith(told)
    found = written(out)
    assert {name: len(lines) for name, lines in found.items()} == {
        f"{split}.{kind}": size
        for split, size in (("train", 23), ("dev", 5), ("test", 7))
        for kind in ("en", "fr", "gold")
    }
    assert all(str(out / name) in result.out for name in found)


@pytest.mark.slow
def test_what_is_written_reads_back(tmp_path: Path, translate_command: Command) -> None:
    translate_command("corpus", "--data", "grammar", "--out", tmp_path / "first", *SIZES)
    sizes = {"num_train": 23, "num_validation": 5, "num_test": 7}
    own = load_corpus(data_config({"name": "grammar", "kind": "grammar", **sizes}))
    golds = [f"data.{a}.gold={tmp_path}/first/{b}.gold" for a, b in (("train", "train"), ("test", "test"))]
    languages = ("data.source_language=en", "data.target_language=fr")
    again = ("--data", "files", "--out", tmp_path / "second", f"data.path={tmp_path}/first")
    result = translate_command("corpus", *again, *languages, *golds)
    assert (result.code, result.err) == (0, "")
    first, second = written(tmp_path / "first"), written(tmp_path / "second")
    assert first["train.en"] == second["train.en"] == own.train.source
    assert first["dev.fr"] == second["dev.fr"]
    assert first["test.gold"] == second["test.gold"]


def test_nothing_that_exists_is_harmed(tmp_path: Path, translate_command: Command) -> None:
    (tmp_path / "dev.fr").write_text("precious\n")
    result = translate_command("corpus", "--data", "grammar", "--out", tmp_path, *SIZES)
    assert result.code == 2
    assert f"{tmp_path / 'dev.fr'}: exists already" in result.err
    assert written(tmp_path) == {"dev.fr": ["precious"]}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--data", "gramar"], "did you mean data=grammar?"),
        (["--data", "grammar", "data.num_trian=3"], "did you mean data.num_train?"),
        (["--data", "grammar", "model=rnn_luong"], "model=rnn_luong: expected a setting of the section data"),
        (["--data", "grammar", "data.num_train=0"], "data.num_train"),
        (["--data", "files"], "data.train.source"),
    ],
)
def test_wrong_settings(tmp_path: Path, given: list[str], message: str, translate_command: Command) -> None:
    assert message in translate_command("corpus", "--out", tmp_path / "out", *given).refusal()
    assert not (tmp_path / "out").exists()


def test_a_full_disk_leaves_nothing(tmp_path: Path, translate_command: Command) -> None:
    out = tmp_path / "out"
    with largest_file(100):
        result = translate_command("corpus", "--data", "grammar", "--out", out, *SIZES)
    assert result.code == 2
    assert result.err.startswith(f"error: {out}: cannot be written (File too large); ")
    assert list(tmp_path.iterdir()) == []
