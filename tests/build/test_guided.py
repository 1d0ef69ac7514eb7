"""Guided alignment: links counted in the training text draw one head's attention, in every backend."""

import json
from pathlib import Path

import pytest
from tiny_runs import BACKENDS, train_tiny

from translate.errors import UserError

SETTINGS = ("data.num_train=1000", "training.max_steps=300", "training.label_smoothing=0")


def _validation_aer(run: Path) -> float:
    return float(json.loads((run / "alignment.json").read_text())["validation_aer"])


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_guided_attention_is_nearer_to_gold(backend: str, tmp_path: Path, tiny_runs: dict[str, Path]) -> None:
    assert train_tiny(tmp_path / "run", backend, *SETTINGS, "training.guided_alignment=1.0") == 0
    assert _validation_aer(tmp_path / "run") < _validation_aer(tiny_runs[backend]) - 0.05


def test_layer_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"training\.guided_layer: .*expected 0 to 1, got 7"):
        train_tiny(
            tmp_path / "run", "transformer", "training.guided_alignment=1.0", "training.guided_layer=7"
        )
    assert not (tmp_path / "run").exists()
