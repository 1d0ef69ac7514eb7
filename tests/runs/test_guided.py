"""Guided alignment: one head learns links estimated by word alignment, in every backend."""

import json
from pathlib import Path

import pytest

from tests.tiny_runs import train_tiny
from translate.errors import UserError

SETTINGS = ("data.num_train=1000", "training.max_steps=100", "training.label_smoothing=0")


def _validation_aer(run: Path) -> float:
    return float(json.loads((run / "alignment.json").read_text())["validation_aer"])


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["rnn_bahdanau", "transformer"])
def test_guided_attention_is_nearer_to_gold(backend: str, tmp_path: Path, tiny_runs: dict[str, Path]) -> None:
    assert train_tiny(tmp_path / "run", backend, *SETTINGS, "training.guided_alignment=1.0") == 0
    assert _validation_aer(tmp_path / "run") < _validation_aer(tiny_runs[backend]) - 0.05


@pytest.mark.slow
def test_guided_where_a_piece_is_read_it_aligns_there(tmp_path: Path) -> None:
    shifted = ("training.guided_alignment=1.0", "training.guided_shift=1", "training.guided_layer=0")
    assert train_tiny(tmp_path / "run", "transformer", *SETTINGS, *shifted) == 0
    chosen = json.loads((tmp_path / "run" / "alignment.json").read_text())["choice"]
    assert (chosen["layer"], chosen["heads"], chosen["shift"]) == (0, [0], 1)


@pytest.mark.slow
def test_word_alignment_learns_from_gold_of_the_validation_pairs_unless_told_not_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = (
        "training.guided_alignment=1",
        "training.max_steps=1",
        "data.num_train=99",
        "runtime.cache=null",
    )
    assert train_tiny(tmp_path / "with", "rnn_luong", *settings) == 0
    estimated = "guided alignment: links estimated by word alignment of 99 training pairs"
    assert f"{estimated} and 11 validation pairs with gold links\n" in capsys.readouterr().out
    assert train_tiny(tmp_path / "without", "rnn_luong", *settings, "training.guided_gold=false") == 0
    assert f"{estimated}\n" in capsys.readouterr().out


def test_layer_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"training\.guided_layer: .*expected 0 to 1, got 7"):
        train_tiny(
            tmp_path / "run", "transformer", "training.guided_alignment=1.0", "training.guided_layer=7"
        )
    assert not (tmp_path / "run").exists()
