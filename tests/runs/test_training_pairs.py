"""Test pairs that a run was trained on are found, whatever their case, spaces and tags."""

from pathlib import Path

import pytest

from tests.tiny_runs import train_tiny
from translate.corpora.corpus import Corpus
from translate.corpora.split import Split
from translate.errors import UserError
from translate.runs.fine_tuning import tell_seen
from translate.runs.run_directory import RunDirectory
from translate.runs.training_pairs import seen_pairs, write_pairs

PAIRS = Split(["I love you .", "it rains .", "it rains .", "<law> Stop!"], ["a", "b", "b", "c"])


def test_pairs_are_known_again(tmp_path: Path) -> None:
    assert seen_pairs(tmp_path, ["it rains ."], [["b"]]) is None
    write_pairs(RunDirectory(tmp_path), PAIRS)
    assert (tmp_path / "training_pairs.bin").stat().st_size == 3 * 5
    asked = ["i love you.", "it rains .", "it rains", "STOP!", "", "I love you ."]
    assert seen_pairs(tmp_path, asked, [["A", "a", "b", "c", "", "b"]]) == [
        *(True, False, False, True, False, False)
    ]
    assert seen_pairs(tmp_path, asked[:2], [["x", "x"], ["a", "b"]]) == [True, True]


def test_a_run_knows_the_pairs_of_the_one_it_starts_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start, run = RunDirectory(tmp_path / "start"), RunDirectory(tmp_path / "run")
    for directory in (start, run):
        directory.path.mkdir()
    write_pairs(start, PAIRS)
    assert write_pairs(run, Split(["it rains .", "Go ."], ["b", "d"]), start.path) == 2
    asked = ["I love you .", "Stop!", "Go .", "no"]
    assert seen_pairs(run.path, asked, [["a", "c", "d", "e"]]) == [True, True, True, False]
    held = Split(asked, ["a", "c", "d", "e"])
    tell_seen(start.path, Corpus("mine", "en", "fr", PAIRS, held, None, {}))
    assert capsys.readouterr().out.startswith(
        f"warning: {start.path} was trained on 2 of the 4 validation pairs, so their scores are too good; "
    )


def test_many_pairs_stay_small(tmp_path: Path) -> None:
    numbers = [str(number) for number in range(20_000)]
    write_pairs(RunDirectory(tmp_path), Split(numbers, numbers))
    assert (tmp_path / "training_pairs.bin").stat().st_size == 5 * len(numbers)
    assert seen_pairs(tmp_path, numbers, [numbers]) == [True] * len(numbers)
    assert seen_pairs(tmp_path, numbers, [[*numbers[1:], "0"]]) == [False] * len(numbers)


def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "training_pairs.bin").write_bytes(b"1234567")
    with pytest.raises(UserError, match=r"training_pairs\.bin: damaged; remove it"):
        seen_pairs(tmp_path, ["a"], [["b"]])


def test_pairs_beyond_the_learned_positions_are_told_before_training(tmp_path: Path) -> None:
    sides = ["the cat sleeps .\n" * 40 + "cat " * 30 + "\n"] * 2
    given = []
    for side, language, text in zip(("source", "target"), ("en", "fr"), sides, strict=True):
        path = tmp_path / f"train.{language}"
        path.write_text(text)
        given.append(f"data.train.{side}={path}")
    sizes = ("tokenizer.vocabulary_size=20", "model.positions=learned", "model.max_length=24")
    with pytest.raises(UserError) as error:
        train_tiny(tmp_path / "run", "transformer", "data=files", *given, *sizes, "tokenizer.model_type=char")
    assert str(error.value) == (
        "model.max_length=24: 1 training pair with more pieces on a side, up to 121; raise it, or lower "
        "data.max_length (words)"
    )
