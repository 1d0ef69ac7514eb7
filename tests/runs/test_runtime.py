"""Tests of ``translate.runs.runtime``: which precision a run computes in, and what is said of it."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.tiny_runs import train_tiny
from translate.config.training import RuntimeConfig
from translate.runs.runtime import ENOUGH_WORK, forward_precision, precision_note, work_of

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("precision", "engine", "work", "expected"),
    [
        ("auto", None, 10 * ENOUGH_WORK, torch.float32),
        ("auto", "AMX", ENOUGH_WORK, torch.bfloat16),
        ("auto", "AMX", ENOUGH_WORK - 1, torch.float32),
        ("float32", "AMX", 10 * ENOUGH_WORK, torch.float32),
        ("bfloat16", None, 0, torch.bfloat16),
    ],
)
def test_auto_takes_bfloat16_for_large_steps_on_a_processor_that_has_it(
    monkeypatch: pytest.MonkeyPatch, precision: Any, engine: str | None, work: int, expected: torch.dtype
) -> None:
    monkeypatch.setattr("translate.runs.runtime.bfloat16_engine", lambda: engine)
    assert forward_precision(RuntimeConfig(precision=precision), CPU, work) == expected


@pytest.mark.parametrize(
    ("precision", "engine", "enough", "note"),
    [
        ("float32", "AMX", True, None),
        ("auto", None, True, None),
        ("auto", "AMX", False, None),
        ("auto", "AMX", True, "bfloat16, since this processor has AMX for it; runtime.precision=float32"),
        ("bfloat16", "AVX-512", True, None),
        ("bfloat16", "AVX-512", False, "runtime.precision=bfloat16: the steps of so small a model"),
        ("bfloat16", None, True, "runtime.precision=bfloat16: this processor has no instructions for it"),
    ],
)
def test_what_is_said_of_a_precision(
    monkeypatch: pytest.MonkeyPatch, precision: str, engine: str | None, enough: bool, note: str | None
) -> None:
    monkeypatch.setattr("translate.runs.runtime.bfloat16_engine", lambda: engine)
    said = precision_note(precision, CPU, ENOUGH_WORK if enough else 0)
    assert said is None if note is None else said is not None and said.startswith(note)
    assert precision_note(precision, torch.device("cuda"), ENOUGH_WORK) is None


def test_work_counts_what_is_trained() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2, bias=False))
    model[0].requires_grad_(False)
    assert work_of(model, 100) == 800
    model[0].requires_grad_(True)
    assert work_of(model, 100) == 2400


@pytest.mark.slow
def test_a_run_says_which_precision_it_chose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("translate.runs.runtime.bfloat16_engine", lambda: "AMX")
    monkeypatch.setattr("translate.runs.runtime.ENOUGH_WORK", 1)
    train_tiny(tmp_path / "run", "transformer", "runtime.precision=auto")
    said = capsys.readouterr().out
    assert ", bfloat16\n" in said
    assert "bfloat16, since this processor has AMX for it" in said
