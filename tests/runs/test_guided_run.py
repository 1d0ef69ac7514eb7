"""Guided alignment: links of a file, and the recipe from two directions to a guided model."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

import translate.runs.guided_run
from tests.cli.commands import Command, command
from tests.tiny_runs import overrides_of, train_tiny
from translate.config.composer import compose
from translate.config.data import data_config
from translate.config.declare import plain
from translate.config.settings import check_config
from translate.corpora.corpus import Corpus, load_corpus
from translate.corpora.linkers import links_of_file
from translate.corpora.split import Split
from translate.errors import UserError
from translate.links.links import read_gold, swapped
from translate.links.statistical import estimate_links
from translate.links.symmetrise import majority
from translate.runs.encoding import known_pairs
from translate.runs.guided_run import guide, swap_sides
from translate.runs.load import read_settings
from translate.runs.run_directory import RunDirectory

TINY = ("data.num_train=60", "training.max_steps=6", "training.validate_every=6")


translate_command = pytest.fixture(command)


def _words(lines: Sequence[str]) -> list[list[str]]:
    return [line.split() for line in lines]


def _corpus(tmp_path: Path) -> Corpus:
    (tmp_path / "train.en").write_text("a b\n\nc\nd e f\n")
    (tmp_path / "train.fr").write_text("u\nv\nw x\ny\n")
    files = {"source": str(tmp_path / "train.en"), "target": str(tmp_path / "train.fr")}
    return load_corpus(data_config({"name": "files", "kind": "files", "train": files}))


@pytest.mark.parametrize("text", ["1-0\n9-9\n0-1\n2-0\n", "1-0\n0-1\n2-0\n"])
def test_links_follow_their_pairs_through_the_filters(tmp_path: Path, text: str) -> None:
    """The second pair has an empty side: the file may have a line for it, or none."""
    corpus, path = _corpus(tmp_path), tmp_path / "links"
    path.write_text(text)
    sides = _words(corpus.train.source), _words(corpus.train.target)
    assert links_of_file(path, corpus)(0, *sides) == [{(1, 0)}, {(0, 1)}, {(2, 0)}]


def test_of_gold_a_word_takes_its_sure_links_or_else_its_possible_ones(tmp_path: Path) -> None:
    corpus, path = _corpus(tmp_path), tmp_path / "links"
    path.write_text("0-0 1p0\n0p0 0-1\n0p0 1p0 2-0\n")
    sides = _words(corpus.train.source), _words(corpus.train.target)
    assert links_of_file(path, corpus)(0, *sides) == [{(0, 0)}, {(0, 0), (0, 1)}, {(2, 0)}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0-0\n", r"1 line of links, but the training split has 3 pairs \(4 before filtering\)"),
        ("0-0\n\n1-0\n0-0\n", "line 3: link '1-0' points to source word 1, but the source has 1 words"),
        ("0-0\n0-0\n0:0\n", "line 3: '0:0'"),
    ],
)
def test_wrong_links(tmp_path: Path, text: str, message: str) -> None:
    corpus, path = _corpus(tmp_path), tmp_path / "links"
    path.write_text(text)
    with pytest.raises(UserError, match=message):
        links_of_file(path, corpus)(0, _words(corpus.train.source), _words(corpus.train.target))


def test_sides_are_swapped() -> None:
    values = plain(compose(["data=files", "data.train.source=a.en", "data.train.target=a.de"]))
    values["data"] |= {"source_language": "en", "target_language": "de", "source_field": "x"}
    data = swap_sides(values)["data"]
    assert (data["train"]["source"], data["train"]["target"]) == ("a.de", "a.en")
    assert (data["source_language"], data["target_language"]) == ("de", "en")
    assert (data["source_field"], data["target_field"]) == (None, "x")
    assert values["data"]["train"]["source"] == "a.en"  # a copy was changed
    values["tokenizer"]["path"] = ["en.model", "de.model"]
    assert swap_sides(values)["tokenizer"]["path"] == ["de.model", "en.model"]
    split = Split(["a b"], ["c"], ["1-0 0p0"]).swapped()
    assert (split.source, split.target, split.gold) == (["c"], ["a b"], ["0-1 0p0"])


COLUMNS = "data.source_field, data.target_field: name the columns"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("data=files data.train.source=pairs.tsv", COLUMNS),
        ("data=prepared data.path=shards", "its shards have one direction"),
        (
            "data=mixture data.source_language=en data.target_language=fr data.corpora.a.choice=files "
            "data.corpora.a.train.source=pairs.tsv",
            COLUMNS,
        ),
    ],
)
def test_sides_that_nothing_tells_apart_are_not_swapped(data: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        swap_sides(plain(compose(data.split())))


@pytest.mark.slow
def test_recipe_goes_on_where_it_ended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = compose(overrides_of(tmp_path / "x", "transformer", *TINY), check=check_config)
    out = tmp_path / "recipe"
    assert guide(config, out) == 0
    directions = [(RunDirectory(out / name), name) for name in ("forward", "backward", "guided")]
    settings = {name: read_settings(directory) for directory, name in directions}
    assert settings["backward"].data.target_language == "en"
    assert settings["guided"].training.guided_alignment == 0.05
    assert json.loads((out / "guided" / "scores.json").read_text())["steps"] == 6
    corpus = load_corpus(settings["forward"].data)
    train = corpus.train
    models = [translate.load(out / name, device="cpu") for name in ("forward", "backward")]
    there = models[0].align(train.source, train.target, whitespace=True)
    back = models[1].align(train.target, train.source, whitespace=True)
    known = known_pairs(settings["forward"], corpus, models[0].tokenizers)
    assert known is not None
    counted = estimate_links([a.source_words for a in there], [a.target_words for a in there], known=known)
    votes = zip(there, back, counted, strict=True)
    expected = [majority(a.links(), swapped(b.links()), c) for a, b, c in votes]
    assert [gold.sure for gold in read_gold(out / "links.txt")] == expected
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}
    capsys.readouterr()
    assert guide(config, out) == 0
    assert capsys.readouterr().out.count("nothing to do") == 3
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()} == before
    other = compose(
        overrides_of(tmp_path / "x", "transformer", *TINY, "data.num_train=61"), check=check_config
    )
    with pytest.raises(UserError, match=r"data\.num_train was 60, now 61"):
        guide(other, out)
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("weight", [1.0, 0.1])
def test_each_training_has_the_settings_that_are_chosen(
    tmp_path: Path, translate_command: Command, weight: float
) -> None:
    out = tmp_path / "out"
    given = ["data.num_train=60", "data.num_validation=4", "data.num_test=4"]
    named = translate_command("guide", "--out", out, *given, "run.name=mine")
    assert "run.name: it has no effect on the runs of guide, which lie in --out" in named.refusal()
    links = translate_command("guide", "--out", out, *given, "training.guided_links=train.links")
    assert "training.guided_links: this command makes the links" in links.refusal()
    layer = translate_command("guide", "--out", out, *given, "training.guided_layer=9")
    assert "training.guided_layer: attention layer: expected 0 to" in layer.err
    assert not out.exists()
    given += ["training.max_steps=2", f"training.guided_alignment={weight}"][: 1 + (weight < 1)]
    assert translate_command("guide", "--out", out, *given).code == 0
    settings = [read_settings(RunDirectory(out / name)) for name in ("forward", "backward", "guided")]
    assert all(each.optimizer["_target_"].endswith("Muon") for each in settings)
    assert [each.training.guided_alignment for each in settings] == [0.0, 0.0, weight]


def test_after_a_signal_the_same_command_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"the same command": 130}
    monkeypatch.setattr(translate.runs.guided_run, "train", lambda *given: said[given[-1]])
    assert guide(compose(["data=grammar"], check=check_config), tmp_path) == 130


def test_training_stops_at_a_wrong_file_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "links").write_text("0-0\n")
    given = ("training.guided_alignment=1", f"training.guided_links={tmp_path / 'links'}")
    with pytest.raises(UserError, match="1 line of links, but the training split has 60 pairs"):
        train_tiny(tmp_path / "run", "rnn_luong", *TINY, *given)
    assert not (tmp_path / "run").exists()
