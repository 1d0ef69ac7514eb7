"""Runs on mixtures: scores of each corpus, and going on in the middle of a stage."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.tiny_runs import rows, train_tiny
from translate.cli.main import run as main
from translate.corpora.split import Split
from translate.errors import UserError
from translate.runs.load import read_settings
from translate.runs.run_directory import RunDirectory
from translate.runs.run_scores import by_corpus


def test_every_corpus_is_scored_in_its_own_language() -> None:
    targets, languages = ["我喜欢狗和猫。", "I like dogs."], {"a": "zh", "b": "en"}
    split = Split(["x", "y"], targets, corpora=["a", "b"], languages=languages)
    alike = replace(split, languages={})  # as of translate prepare
    assert [language for _, language, *_ in by_corpus(alike, targets, targets, "zh")] == ["zh", "zh"]
    found = list(by_corpus(split, targets, targets, "mul"))
    assert found == [("a", "zh", targets[:1], targets[:1]), ("b", "en", targets[1:], targets[1:])]


pytestmark = pytest.mark.slow


def overrides(*more: str) -> list[str]:
    grammar = "choice: grammar, num_train: 150, num_validation: 7, num_test: 5"
    return [
        "data=mixture",
        "data.tokenised=true",
        f"data.corpora={{one: {{{grammar}}}, two: {{{grammar}, seed: 2}}}}",
        "data.stages=[{until: 4, weights: {one: 1}}, {weights: {one: 1, two: 3}}]",
        "training.validate_every=5",
        "training.save_every=1",
        "training.keep_last=20",
        "training.accumulate=2",
        "training.word_dropout=0.1",
        *more,
    ]


def test_a_staged_mixture_goes_on_from_any_step(tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert train_tiny(whole, "transformer", *overrides()) == 0
    for steps in (4, 7, 10):  # at the end of a stage, in the next one
        assert (
            train_tiny(
                parts, "transformer", *overrides(f"training.max_steps={steps}", "training.resume=true")
            )
            == 0
        )
    weights = [(run / "checkpoints" / "last" / "model.safetensors").read_bytes() for run in (whole, parts)]
    assert weights[0] == weights[1]
    assert rows(whole) == rows(parts)
    validations = rows(whole, "validation")
    assert {"bleu_one", "bleu_two"} <= validations[0].keys()
    scores = json.loads((whole / "scores.json").read_text())["test"]["corpora"]
    assert {name: own["pairs"] for name, own in scores.items()} == {"one": 5, "two": 5}
    assert "| two | 5 |" in (whole / "README.md").read_text()


def test_epochs_do_not_end_a_staged_mixture(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"training\.max_epochs: expected none with data\.stages"):
        train_tiny(tmp_path / "run", "transformer", *overrides("training.max_epochs=2"))


def test_a_temperature_beside_weights_is_refused_in_a_new_run_alone(tmp_path: Path) -> None:
    """A run that has one, without effect, still translates and goes on."""
    run = tmp_path / "run"
    with pytest.raises(UserError, match=r"data\.temperature: no effect beside weights"):
        train_tiny(run, "transformer", *overrides("data.temperature=2"))
    assert train_tiny(run, "transformer", *overrides("training.max_steps=5")) == 0
    config = run / "config.yaml"
    config.write_text(config.read_text().replace("temperature: 1", "temperature: 2", 1))
    assert read_settings(RunDirectory(run)).data.temperature == 2
    assert main(["resume", str(run), "training.max_steps=6"]) == 0
