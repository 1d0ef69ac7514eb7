"""Local directories in the hub's layout."""

import json
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from tests.corpora.written import config, message, write
from translate.config.data import data_config
from translate.corpora.corpus import load_corpus


def parquet(path: Path, num_rows: int, languages: tuple[str, str] = ("en", "fr")) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [{"translation": {code: f"{code} {path.stem} {i}" for code in languages}} for i in range(num_rows)]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)


def local(name: str, root: Path, source: str, target: str) -> dict[str, Any]:
    return {**config(name), "path": str(root), "source_language": source, "target_language": target}


@pytest.mark.parametrize(("source", "target"), [("en", "fr"), ("fr", "en")])
def test_clone_with_one_folder_a_pair(tmp_path: Path, source: str, target: str) -> None:
    parquet(tmp_path / "en-fr" / "train-00000-of-00002.parquet", 7)
    parquet(tmp_path / "en-fr" / "train-00001-of-00002.parquet", 5)
    parquet(tmp_path / "de-en" / "train-00000-of-00001.parquet", 3, ("de", "en"))
    corpus = load_corpus(data_config({**local("opus_books", tmp_path, source, target), "test_pairs": 0}))
    assert corpus.validation is not None
    assert len(corpus.train) + len(corpus.validation) == 12
    assert corpus.train.source[0].startswith(f"{source} train-00000")
    assert corpus.train.target[-1].startswith(f"{target} train-00001")
    assert "no folder en-it or it-en; there are de-en, en-fr" in message(
        local("opus_books", tmp_path, "en", "it")
    )


def test_clone_given_as_the_folder_of_the_pair(tmp_path: Path) -> None:
    for split, num_rows in (("train", 7), ("validation", 3), ("test", 2)):
        parquet(tmp_path / "de-en" / f"{split}-00000-of-00001.parquet", num_rows, ("de", "en"))
    for root in (tmp_path, tmp_path / "de-en"):
        corpus = load_corpus(data_config(local("wmt14", root, "en", "de")))
        assert corpus.validation is not None
        assert corpus.test is not None
        assert [len(corpus.train), len(corpus.validation), len(corpus.test)] == [7, 3, 2]
        assert corpus.train.source[0].startswith("en ")


def test_clone_with_jsonl_in_the_root(tmp_path: Path) -> None:
    for split, num_rows in (("train", 7), ("val", 3), ("test", 2)):
        write(
            tmp_path / f"{split}.jsonl",
            [json.dumps({"en": f"e {i}", "de": f"d {i}"}) for i in range(num_rows)],
        )
    corpus = load_corpus(data_config(local("multi30k", tmp_path, "de", "en")))
    assert corpus.validation is not None
    assert corpus.test is not None
    assert [len(corpus.train), len(corpus.validation), len(corpus.test)] == [7, 3, 2]
    assert corpus.train.source[0] == "d 0"
    told = message(local("multi30k", tmp_path, "en", "fr"))
    assert "no field 'fr'" in told
    assert "a folder of text files has train.en and so on" in told


def test_a_test_set_is_chosen_and_none_is_trained_on(tmp_path: Path) -> None:
    names = {"train": 7, "newsdev2015": 3, "test_2016_flickr": 2, "test_2017_flickr": 4, "cache-1f": 9}
    names |= {"newstest2013": 5, "tst2010": 6, "devtest": 1}
    for name, num_rows in names.items():
        rows = [{"en": f"{name} {i}", "de": f"d {i}"} for i in range(num_rows)]
        with pyarrow.OSFile(str(tmp_path / f"{name}.arrow"), "wb") as file:
            table = pyarrow.Table.from_pylist(rows)
            with pyarrow.ipc.new_stream(file, table.schema) as writer:
                writer.write_table(table)
    corpus = load_corpus(data_config(local("multi30k", tmp_path, "en", "de")))
    assert corpus.validation is not None
    assert corpus.test is not None
    assert [len(corpus.train), len(corpus.validation), len(corpus.test)] == [7, 3, 2]
    every = load_corpus(data_config({**local("files", tmp_path, "en", "de"), "drop_duplicates": False})).test
    assert every is not None
    assert len(every) == 2 + 4 + 5 + 6 + 1


def test_clone_without_data(tmp_path: Path) -> None:
    assert "no training data for en-fr; expected train.en and train.fr" in message(
        local("opus100", tmp_path, "en", "fr")
    )
