"""Shards of `translate prepare`, written here by another hand: Arrow's own writer and a manifest."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from tests.corpora.written import config, message, write
from translate.config.composer import compose
from translate.config.data import TokenizerConfig, data_config
from translate.config.settings import check_config
from translate.corpora.batching import collate
from translate.corpora.columns import Column
from translate.corpora.corpus import load_corpus
from translate.errors import UserError
from translate.runs.encoding import encode_training
from translate.text import lines as lines_module
from translate.text.lines import evenly
from translate.text.tokenizer import TokenizerPair
from translate.text.words import split_tagged


def shard(path: Path, rows: range, **columns: pyarrow.Array) -> dict[str, Any]:
    sides = {
        "source": pyarrow.array([f"s {n}" for n in rows]),
        "target": pyarrow.array([f"t {n}" for n in rows]),
        "corpus": pyarrow.array([("law", "news")[n % 2] for n in rows]).dictionary_encode(),
    }
    table = pyarrow.table({**sides, **columns})
    with pyarrow.OSFile(str(path), "wb") as file, pyarrow.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=5)
    return {"file": path.name, "pairs": len(rows), "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def write_manifest(root: Path, **values: Any) -> None:
    manifest = {"format": 1, "languages": ["en", "fr"], "columns": ["source", "target", "corpus"], **values}
    (root / "manifest.json").write_text(json.dumps(manifest))


@pytest.fixture
def values(tmp_path: Path) -> dict[str, Any]:
    splits = {
        "train": [shard(tmp_path / f"train-{n}.arrow", range(11 * n, 11 * n + 11)) for n in range(3)],
        "validation": [shard(tmp_path / "validation-0.arrow", range(50, 54))],
        "test": [shard(tmp_path / "test-0.arrow", range(30, 36))],
    }
    write_manifest(tmp_path, splits=splits)
    return {**config("prepared"), "path": str(tmp_path)}


def test_shards_are_one_corpus(values: dict[str, Any]) -> None:
    corpus = load_corpus(data_config(values))
    assert (corpus.source_language, corpus.target_language) == ("en", "fr")
    assert corpus.train.source == [f"s {n}" for n in range(33)]
    assert corpus.train.target == [f"t {n}" for n in range(33)]
    assert corpus.validation.corpora == ["law", "news"] * 2
    assert corpus.notes == (
        "test pairs that are also in train: 3; data.drop_overlap=true takes them out of train",
    )
    assert corpus.train.fingerprint == load_corpus(data_config(values)).train.fingerprint
    dropped = load_corpus(data_config({**values, "drop_overlap": True}))
    assert dropped.train.source == [f"s {n}" for n in range(30)]
    assert (dropped.dropped, dropped.notes) == ({"train": {"overlap": 3}}, ())
    assert dropped.train.fingerprint != corpus.train.fingerprint


def resident(path: str) -> int:
    """KiB of mapped files of a folder that the system counts as memory of this process."""
    found, kib = False, 0
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if not line.split()[0].endswith(":"):
            found = path in line
        elif found and line.startswith("Rss:"):
            kib += int(line.split()[1])
    return kib


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="tells what is in memory on Linux alone")
def test_shards_that_were_read_are_given_back(
    values: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = load_corpus(data_config(values))
    assert isinstance(corpus.train.source, Column)
    lines = [line for block in corpus.train.source.blocks() for line in block]
    assert lines == [f"s {n}" for n in range(33)]
    assert resident(f"{values['path']}/train-") == 0
    assert corpus.train.target[5] == "t 5"
    assert resident(f"{values['path']}/train-") > 0
    monkeypatch.setattr(lines_module, "MEASURED", 5)
    some = list(evenly(corpus.train.target, 20))
    assert some == [f"t {33 * n // len(some)}" for n in range(len(some))]
    assert len(some) < 10
    assert resident(f"{values['path']}/train-") == 0


def test_links_of_the_shards_guide_the_attention(tmp_path: Path, values: dict[str, Any]) -> None:
    lines = pyarrow.array(["0-1 1-0", "", "1-1"])
    entry = shard(tmp_path / "linked.arrow", range(3), links=lines)
    write_manifest(tmp_path, splits={"train": [entry]})
    corpus = load_corpus(data_config(values))
    assert list(corpus.train.links or ()) == ["0-1 1-0", "", "1-1"]
    characters = TokenizerConfig(vocabulary_size=16, model_type="char")
    tokenizers, _ = TokenizerPair.train(corpus.train.source, corpus.train.target, characters)
    settings = check_config(compose(["training.guided_alignment=0.1", "runtime.cache=null"]))
    encoded = encode_training(settings, corpus, tokenizers)
    assert encoded.source.row(0).tolist() == tokenizers.source.encode("s 0")
    guide = collate(encoded, [0, 1]).guide
    assert guide[1].sum() == 0
    assert guide[0].sum(1).tolist() == [1.0] * len(tokenizers.target.encode("t 0")) + [0.0]
    wrong = shard(tmp_path / "wrong.arrow", range(3), links=pyarrow.array(["0-2", "", ""]))
    write_manifest(tmp_path, splits={"train": [wrong]})
    with pytest.raises(UserError, match="links of training pair 1: link '0-2' points to target word 2"):
        encode_training(settings, load_corpus(data_config(values)), tokenizers)


def test_a_mixture_carries_links_through(tmp_path: Path, values: dict[str, Any]) -> None:
    """Links count the words of a tag, too; a corpus without links has none to carry."""
    entry = shard(tmp_path / "linked.arrow", range(8), links=pyarrow.array(["0-1 1-0"] * 7 + [None]))
    write_manifest(tmp_path, splits={"train": [entry]})
    plain = {side: write(tmp_path / f"plain.{side}", ["a b", "c"]) for side in ("source", "target")}
    corpora = {
        "law": {"choice": "prepared", "path": str(tmp_path), "tag": "<law>"},
        "bare": {"choice": "files", "train": plain, "validation_pairs": 0},
    }
    languages = {"source_language": "en", "target_language": "fr"}
    train = load_corpus(data_config({**config("mixture"), **languages, "corpora": corpora})).train
    words = [word.text for word in split_tagged(train.source[0], ["<law>"])]
    assert (words, train.links[0]) == (["<law>", "s", "0"], "1-1 2-0")  # type: ignore[index]
    assert list(train.links[7:]) == [None] * 3  # type: ignore[index]


@pytest.mark.parametrize("damage", ["missing", "changed", "cut"])
def test_a_shard_that_is_missing_or_damaged(tmp_path: Path, values: dict[str, Any], damage: str) -> None:
    path = tmp_path / "train-1.arrow"
    content = path.read_bytes()
    path.unlink()
    if damage == "changed":
        path.write_bytes(content.replace(b"s 15", b"s 51"))
    elif damage == "cut":
        path.write_bytes(content[:100])
    expected = "train-1.arrow: the shard is " + ("missing" if damage == "missing" else "damaged")
    assert expected in message(values)


def test_wrong_manifests(tmp_path: Path, values: dict[str, Any]) -> None:
    entry = shard(tmp_path / "a.arrow", range(3))
    null = shard(tmp_path / "null.arrow", range(3), source=pyarrow.array(["a", None, "b"]))
    for splits, expected in (
        ({"train": [{**entry, "file": "../a.arrow"}]}, "expected the name of a file in the folder"),
        ({"train": [{**entry, "pairs": 4}]}, "a.arrow: 3 pairs; the manifest says 4"),
        ({"train": [null]}, "null.arrow: the column source has empty cells"),
        ({"train": [{"file": "a.arrow"}]}, "expected file, pairs and sha256 for all shards"),
        ({"test": [entry]}, "no training pairs"),
        ({}, "no training pairs"),
        ([], "expected file, pairs and sha256"),
    ):
        write_manifest(tmp_path, splits=splits)
        assert expected in message(values)
    write_manifest(tmp_path, splits={"train": [entry]}, format=2)
    assert "expected a manifest of format 1, got 2" in message(values)
    write_manifest(tmp_path, splits={"train": [entry]}, languages="en")
    assert "expected two languages" in message(values)
    write_manifest(tmp_path, splits={"train": [entry]})
    assert "the shards are en-fr, not de-fr" in message({**values, "source_language": "de"})
    for content, expected in (("[" * 99_999, "nested too deeply"), ("{", "damaged"), ("1" * 5000, "damaged")):
        (tmp_path / "manifest.json").write_text(content)
        assert f"manifest.json: {expected}" in message(values)
    assert "read it by data=prepared" in message({**config("files"), "path": str(tmp_path)})
    (tmp_path / "manifest.json").unlink()
    assert "expected a folder of translate prepare" in message(values)
    assert "data.path is not set" in message({**values, "path": None})


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    table = pyarrow.table([pyarrow.array([side]) for side in "abc"], ["source", "source", "target"])
    path = tmp_path / "train-0.arrow"
    with pyarrow.OSFile(str(path), "wb") as file, pyarrow.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    entry = {"file": path.name, "pairs": 1, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    write_manifest(tmp_path, splits={"train": [entry]})
    text = message({**config("prepared"), "path": str(tmp_path)})
    assert "2 fields are called 'source'; expected every name once" in text
