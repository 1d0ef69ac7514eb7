"""`translate align` beside pictures and plain links: methods, both directions, calibration, report."""

import json
import shutil
from pathlib import Path

import pytest

import translate
from tests.cli.commands import Command
from translate.aligner.error_rate import score
from translate.aligner.links import format_pharaoh
from translate.alignment.directions import symmetrised
from translate.alignment.formats import read_alignments
from translate.config.data import data_config
from translate.corpora.corpus import load_corpus, write_corpus
from translate.corpora.split import Split
from translate.runs.encoding import gold_links

PAIR = ("I love you .", "je t' aime .")


@pytest.fixture(scope="module")
def run(tiny_runs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy: calibration stores its choice."""
    copy = tmp_path_factory.mktemp("align") / "run"
    shutil.copytree(tiny_runs["transformer"], copy, symlinks=True)
    return copy


@pytest.fixture(scope="module")
def test_split() -> Split:
    settings = {"name": "grammar", "kind": "grammar", "num_train": 1, "num_test": 11, "seed": 5}
    split = load_corpus(data_config(settings)).test
    assert split is not None
    return split


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory, test_split: Split) -> list[object]:
    folder = tmp_path_factory.mktemp("corpus")
    settings = {"name": "grammar", "kind": "grammar", "num_train": 1, "num_test": 11, "seed": 5}
    write_corpus(load_corpus(data_config(settings)), folder)
    return ["--source", folder / "test.en", "--target", folder / "test.fr"]


@pytest.mark.parametrize("method", ["gradient", "erasure", "norm"])
def test_methods(run: Path, method: str, translate_command: Command) -> None:
    found = translate.load(run, device="cpu").align([PAIR[0]], [PAIR[1]], method=method)[0]
    result = translate_command("align", run, *PAIR, "--method", method, "--weights")
    assert result == (0, found.pharaoh(weights=True) + "\n", "")


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.npz", "a.tsv"])
def test_weights_of_a_corpus(
    run: Path, tmp_path: Path, corpus: list[object], test_split: Split, name: str, translate_command: Command
) -> None:
    result = translate_command("align", run, *corpus, "--out", tmp_path / name, "--whitespace")
    assert result == (0, f"weights written to {tmp_path / name}\n", "")
    if name != "a.tsv":
        found = read_alignments(tmp_path / name)
        assert [" ".join(each.target_words) for each in found] == test_split.target


def test_both_directions_and_threshold(
    run: Path, tiny_runs: dict[str, Path], corpus: list[object], test_split: Split, translate_command: Command
) -> None:
    reverse = tiny_runs["rnn_luong"]  # of the same direction, which a tiny model hardly knows
    result = translate_command("align", run, *corpus, "--reverse", reverse, "--symmetrise", "union")
    there = translate.load(run, device="cpu").align(test_split.source, test_split.target)
    back = translate.load(reverse, device="cpu").align(test_split.target, test_split.source)
    assert result.out.splitlines() == [format_pharaoh(each) for each in symmetrised(there, back, "union")]
    result = translate_command("align", run, *corpus, "--threshold", 0.2)
    assert result.out.splitlines() == [each.pharaoh(0.2) for each in there]
    pair = translate_command("align", run, *PAIR, "--reverse", reverse)
    assert pair.code == 0
    assert len(pair.out.splitlines()) == 1


def test_calibrate_by_gold_stores_the_best(
    run: Path, corpus: list[object], test_split: Split, translate_command: Command
) -> None:
    gold = str(corpus[1]).replace("test.en", "test.gold")
    row = json.loads(translate_command("align", run, *corpus, "--gold", gold, "--calibrate", "--json").out)
    assert row["criterion"] == "aer"
    assert row["validation_aer"] == pytest.approx(min(each["aer"] for each in row["table"]), abs=1e-6)
    assert json.loads((run / "alignment.json").read_text()) == row
    translator = translate.load(run, device="cpu")
    assert translator.choice.to_dict() == row["choice"]
    links = [a.links() for a in translator.align(test_split.source, test_split.target, whitespace=True)]
    assert score(links, gold_links(test_split)).aer == pytest.approx(row["validation_aer"])
    lines = translate_command("align", run, "--calibrate").out.splitlines()
    assert sum(line.endswith(" *") for line in lines) == 1
    assert lines[-2].endswith("chosen by aer on validation")
    assert lines[-1] == f"stored in {run / 'alignment.json'}"


def test_calibrate_by_the_other_direction(
    run: Path, tiny_runs: dict[str, Path], corpus: list[object], translate_command: Command
) -> None:
    arguments = (*corpus, "--reverse", tiny_runs["rnn_luong"], "--calibrate", "--json")
    row = json.loads(translate_command("align", run, *arguments).out)
    assert row["criterion"] == "directions"
    assert 0 <= row["agreement"] <= 1
    assert row["validation_aer"] is None


def test_report(run: Path, corpus: list[object], translate_command: Command) -> None:
    gold = str(corpus[1]).replace("test.en", "test.gold")
    row = json.loads(translate_command("align", run, *corpus, "--gold", gold, "--report", "--json").out)
    assert row["pairs"] == 11
    assert set(row["scores"]) == {"attention", "gradient", "erasure", "norm"}
    assert len(row["entropy"]["layers"]) == 2
    result = translate_command("align", run, "--report")
    assert result.code == 0
    assert "attention and erasure disagree on" in result.out
    assert all(word in result.out for word in ("rank correlation", "AER", "entropy of each head"))


def test_text_the_model_would_never_produce(run: Path, translate_command: Command) -> None:
    pair = ("<script>alert(1)</script> 日本 ที่", "x\u0301\u0301y " * 30 + "\u2028zz 👩\u200d👧")
    result = translate_command("align", run, *pair)
    assert (result.code, result.err) == (0, "")
    assert result.out.split()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a", "--json"], "--json goes with --calibrate or --report"),
        (["a", "--gold", "g"], "--gold FILE goes with --calibrate or --report"),
        (["--calibrate", "--report"], "--calibrate and --report exclude each other"),
        (["a", "--calibrate"], "give either a sentence, or --source FILE and --target FILE"),
        (["--calibrate", "--out", "a.png"], "--out has no effect with --calibrate"),
        (["--report", "--reverse", "r"], "--reverse has no effect with --report"),
        (["--report", "--method", "norm"], "--method has no effect with --report"),
        (["a", "b", "--symmetrise", "union"], "--symmetrise needs --reverse RUN"),
        (["a", "b", "--threshold", "1.5"], "--threshold is 1.5; expected a number from 0 to 1"),
        (["a", "b", "--out", "a.png", "--threshold", "0.5"], "--threshold is for links"),
        (["a", "b", "--out", "a.tsv", "--weights"], "--weights is for links"),
        (["a", "b", "--reverse", "r", "--out", "a.json"], "both directions make links without weights"),
        (["a", "b", "--one-based"], "--one-based says how --gold FILE counts"),
        (["a", "b", "--method", "atention"], "'atention' is not one of"),
        (["--calibrate", "--source", "s"], "--source FILE needs --target FILE"),
        (["--report", "--source", "two.en", "--target", "two.fr", "--gold", "far.gold"], "far.gold, line 2"),
    ],
)
def test_wrong_use(
    run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
    translate_command: Command,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in {"two.en": "a b\nc\n", "two.fr": "d\ne f\n", "far.gold": "1-0\n0-2\n"}.items():
        (tmp_path / name).write_text(text)
    result = translate_command("align", run, *arguments)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
