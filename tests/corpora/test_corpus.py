"""Settings of every corpus, the grammar, and directories with files side by side."""

from dataclasses import asdict
from pathlib import Path

import pytest

from tests.corpora.written import CONF, REPOSITORY, config, message, write
from translate.config.data import DataConfig, data_config
from translate.corpora.corpus import load_corpus, write_corpus
from translate.grammar.generator import generate

MULTI30K = REPOSITORY.parent / "shared" / "data" / "multi30k"


def test_base_yaml_holds_the_neutral_values() -> None:
    values = config("_base")
    assert (values.pop("name"), values.pop("kind")) == ("???", "???")
    neutral = asdict(DataConfig(name="x", kind="files"))
    del neutral["name"], neutral["kind"]
    assert values == neutral


@pytest.mark.parametrize("name", sorted(p.stem for p in CONF.glob("*.yaml") if not p.stem.startswith("_")))
def test_every_corpus_is_valid(name: str) -> None:
    data = data_config(config(name))
    assert data.name == name
    assert (data.kind == "hub") == (data.hub.repository is not None)
    # A setting that this kind would not read is refused before anything is read.
    text = message({**config(name), "max_length": 0})
    assert text == "data.max_length: expected at least 1, got 0"


def test_wrong_settings() -> None:
    assert message({"pth": "x"}).endswith("data.pth: unknown key; did you mean data.path?")
    assert "data.train.sorce" in message({"train": {"sorce": "x"}})
    assert "data.hub.splits.tset" in message({"hub": {"splits": {"tset": "x"}}})
    assert "did you mean grammar?" in message({"kind": "gramar"})
    assert "data.path: it has no effect" in message({**config("grammar"), "path": "x"})
    assert "data.num_train: it has no effect" in message({**config("multi30k"), "num_train": 5})
    assert "data.train.source: it has no effect" in message({**config("multi30k"), "train": {"source": "x"}})
    assert "another language than the source's, got 'en'" in message(
        {**config("multi30k"), "target_language": "en"}
    )
    assert "does not exist" in message({**config("multi30k"), "path": "/nowhere/at/all"})
    assert "between en and fr or sov" in message({**config("grammar"), "target_language": "de"})


def directory(root: Path, names: dict[str, int], languages: tuple[str, ...] = ("en", "fr")) -> Path:
    for name, num_lines in names.items():
        for language in languages:
            write(root / f"{name}.{language}", [f"{language} {name} {i}" for i in range(num_lines)])
    return root


@pytest.mark.parametrize(("name", "validation"), [("files", "dev"), ("multi30k", "val"), ("wmt14", "valid")])
def test_directory_side_by_side(tmp_path: Path, name: str, validation: str) -> None:
    directory(tmp_path, {"train": 7, validation: 3, "test": 2})
    values = {**config(name), "path": str(tmp_path), "source_language": "fr", "target_language": "en"}
    corpus = load_corpus(data_config(values))
    assert corpus.validation is not None
    assert corpus.test is not None
    assert [len(corpus.train), len(corpus.validation), len(corpus.test)] == [7, 3, 2]
    assert corpus.validation.source[0] == f"fr {validation} 0"
    assert "no training file in the language 'eng'; did you mean en?" in message(
        {**values, "target_language": "eng"}
    )


def test_directory_with_several_tests_and_gold(tmp_path: Path) -> None:
    directory(tmp_path, {"train": 7, "test_2016_flickr": 2, "test_2017_flickr": 3})
    values = {**config("multi30k"), "path": str(tmp_path), "target_language": "fr"}
    corpus = load_corpus(data_config(values))
    assert corpus.test.source[0] == "en test_2016_flickr 0"
    assert "test_2016_flickr, test_2017_flickr; choose one" in message({**values, "test_name": None})
    write(tmp_path / "test_2017_flickr.gold", ["0-0", "1-1", "2p2"])
    corpus = load_corpus(data_config({**values, "test_name": "test_2017_flickr"}))
    assert corpus.test.gold == ["0-0", "1-1", "2p2"]


def test_directory_with_half_a_split(tmp_path: Path) -> None:
    directory(tmp_path, {"train": 7, "val": 3})
    (tmp_path / "val.fr").unlink()
    values = {**config("files"), "path": str(tmp_path), "source_language": "en", "target_language": "fr"}
    assert "expected a parallel file val.fr" in message(values)
    both = "must both be set, such as data.source_language=en data.target_language=fr, or the reverse"
    assert both in message({**values, "target_language": None})


def test_grammar_turned_round() -> None:
    sizes = {"num_train": 5, "num_validation": 2, "num_test": 0}
    there = load_corpus(data_config({**config("grammar_sov"), **sizes}))
    values = {**config("grammar_sov"), **sizes, "source_language": "sov", "target_language": "en"}
    back = load_corpus(data_config(values))
    assert (back.source_language, back.target_language) == ("sov", "en")
    assert (back.train.source, back.train.target) == (there.train.target, there.train.source)
    assert there.train.gold is not None
    assert back.train.gold is not None
    for links, swapped in zip(there.train.gold, back.train.gold, strict=True):
        pairs = [link.replace("p", "-").split("-") for link in links.split()]
        assert [f"{t}-{s}" for s, t in pairs] == swapped.replace("p", "-").split()
        assert links.count("p") == swapped.count("p")


def test_a_written_grammar_corpus_is_parallel(tmp_path: Path) -> None:
    splits = generate(11, 5, 3)
    corpus = load_corpus(
        DataConfig(name="grammar", kind="grammar", num_train=11, num_validation=5, num_test=3)
    )
    paths = write_corpus(corpus, tmp_path / "corpus")
    for stem, key in (("train", "train"), ("dev", "validation"), ("test", "test")):
        columns = [(tmp_path / "corpus" / f"{stem}.{end}").read_text("utf-8") for end in ("en", "fr", "gold")]
        assert list(zip(*(column.splitlines() for column in columns), strict=True)) == splits[key]
    assert sorted((tmp_path / "corpus").iterdir()) == sorted(paths)
    assert len(paths) == 9
