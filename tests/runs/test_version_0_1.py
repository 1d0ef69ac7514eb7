"""Runs of version 0.1 load, translate and resume as they did."""

import json
from pathlib import Path

import pytest

import translate
from tests.tiny_runs import BACKENDS, train_tiny
from translate.config.targets import MOVED, resolve_target
from translate.training.progress import Progress, Window

RUNS = Path(__file__).parents[1] / "fixtures" / "runs-0.1"


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_run_translates_as_before(backend: str) -> None:
    run = RUNS / backend
    expected = json.loads((run / "translations.json").read_text(encoding="utf-8"))
    assert len(expected) == 12
    results = translate.load(run, device="cpu").translate(
        [row["source"] for row in expected], alignments=True
    )
    for row, result in zip(expected, results, strict=True):
        assert result.text == row["text"]
        assert result.score == pytest.approx(row["score"], abs=1e-4)
        assert result.alignment is not None
        assert result.alignment.pharaoh() == row["links"]


def test_its_run_names_targets_that_have_moved() -> None:
    """Otherwise the test above would not look at the table."""
    stored = [(RUNS / backend / "config.yaml").read_text(encoding="utf-8") for backend in BACKENDS]
    assert all("translate.training.optimizer.Constant" in text for text in stored)


@pytest.mark.parametrize(("old", "new"), MOVED.items())
def test_a_moved_target_is_found(old: str, new: str) -> None:
    found = resolve_target(old)
    assert f"{found.__module__}.{found.__qualname__}" == new


@pytest.mark.parametrize("name", ["InverseSquareRoot", "Constant", "Plateau", "Linear", "Cosine", "Halving"])
def test_schedules_are_found_where_they_were(name: str) -> None:
    assert resolve_target(f"translate.training.optimizer.{name}").__name__ == name


def test_muon_is_found_where_it_was() -> None:
    assert resolve_target("translate.training.muon.Muon").__name__ == "Muon"


@pytest.mark.slow
def test_a_run_that_names_old_targets_is_resumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    assert train_tiny(run, "rnn_luong") == 0
    text = (run / "config.yaml").read_text()
    old = text.replace("translate.training.schedules.", "translate.training.optimizer.")
    assert old != text
    (run / "config.yaml").write_text(old)
    assert train_tiny(run, "rnn_luong", "training.resume=true", "training.max_steps=12") == 0
    assert "resumed at step 10" in capsys.readouterr().out


def test_counters_of_a_checkpoint_keep_their_meaning() -> None:
    assert Progress.from_state({"step": 7, "places": 90}) == Progress(step=7, padded_tokens=90)
    assert Window.from_state({"tokens": 5, "places": 11}) == Window(tokens=5, padded_tokens=11)
