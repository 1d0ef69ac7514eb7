"""Settings that need something of the corpus that it does not have."""

from pathlib import Path

import pytest

from tests.tiny_runs import train_tiny
from translate.errors import UserError


@pytest.fixture
def without_gold(tmp_path: Path) -> list[str]:
    for language in ("en", "fr"):
        (tmp_path / f"text.{language}").write_text("".join(f"word {language} {i}\n" for i in range(40)))
    sides = (("source", "en"), ("target", "fr"))
    return ["data=files", *(f"data.train.{side}={tmp_path}/text.{language}" for side, language in sides)]


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            ["training.patience=2"],
            "training.patience: this setting needs validations, but the corpus 'grammar'",
        ),
        (
            ["schedule=plateau", "schedule.warmup=0"],
            "schedule: this setting needs validations, but the corpus 'grammar' has no validation split",
        ),
    ],
)
def test_validations(tmp_path: Path, overrides: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        train_tiny(tmp_path / "run", "rnn_luong", "data.num_validation=0", *overrides)
    assert not (tmp_path / "run").exists()


def test_gold_links(tmp_path: Path, without_gold: list[str]) -> None:
    with pytest.raises(UserError, match="validation split has no gold links; choose bleu or nll"):
        train_tiny(tmp_path / "run", "rnn_luong", *without_gold, "training.best_metric=aer")
    assert not (tmp_path / "run").exists()
