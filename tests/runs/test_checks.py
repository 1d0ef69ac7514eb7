"""A value that cannot work is told in one sentence with its path, before the corpus is read."""

from pathlib import Path

import pytest

import translate.runs.life
from tests.tiny_runs import train_tiny
from translate.errors import UserError


@pytest.fixture(autouse=True)
def _no_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(data: object, cache: object = None) -> None:
        raise AssertionError("the corpus was read")

    monkeypatch.setattr(translate.runs.life, "load_corpus", refuse)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("training.batch_tokens=0", "training.batch_tokens: expected at least 1, got 0"),
        ("training.max_steps=many", "training.max_steps: expected an integer or null, got 'many'"),
        ("training.max_time=0", "training.max_time: expected more than 0, got 0"),
        ("training.seed=-1", "training.seed: expected at least 0, got -1"),
        (
            "training.label_smoothing=-0.1",
            "training.label_smoothing: expected at least 0 and less than 1, got -0.1",
        ),
        ("training.ema=1.5", "training.ema: expected more than 0 and less than 1, got 1.5"),
        (
            "training.guided_links=x",
            "training.guided_links: it has no effect without training.guided_alignment",
        ),
        ("training.guided_whitespace=true", "training.guided_whitespace: it has no effect without"),
        ("runtime.device=gpu", "runtime.device: expected auto, cpu, cuda or cuda:N, got 'gpu'"),
        ("runtime.device=cuda:99", "runtime.device: cuda:99 is wanted, but "),
        ("runtime.precision=float16", "runtime.precision=float16: a CPU multiplies float16 slowly"),
        ("model.dropout=1.5", "model.dropout: expected a probability in [0, 1), got 1.5"),
        ("model.width=25", "model"),
        ("model.attention.num_heads=5", "model.attention.num_heads: expected a divisor of"),
        ("optimizer.lr=-1", "optimizer: Invalid learning rate: -1"),
        ("schedule.warmup=-3", "schedule.warmup: expected at least 0, got -3"),
        ("tokenizer.vocabulary_size=3", "tokenizer.vocabulary_size: expected 5 to 10,000,000, got 3"),
        ("tokenizer.shared=false", "model.tie: all needs one vocabulary ("),
        ("alignment.layer=9", "alignment layer 9 does not exist: the model has 2, counted from 0"),
        ("tokenizer.character_coverage=0.9", "tokenizer.character_coverage: expected 0.98 to 1, got 0.9"),
        ("alignment.heads=[]", "alignment heads: () must name heads, each once"),
        ("alignment.heads=[0,3]", "alignment head 3 does not exist: the model has 3, counted from 0"),
    ],
)
def test_impossible_values(tmp_path: Path, override: str, message: str) -> None:
    with pytest.raises(UserError) as told:
        train_tiny(tmp_path / "run", "transformer", override)
    assert message in str(told.value)
    assert str(told.value).startswith(message.split(":")[0])
    assert "\n" not in str(told.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_kernel_that_the_device_lacks(tmp_path: Path) -> None:
    with pytest.raises(UserError) as told:
        train_tiny(tmp_path / "run", "transformer", "model.attention.kernel=cudnn")
    assert str(told.value) == (
        "model.attention.kernel=cudnn: cudnn cannot run here: it needs a GPU; kernel=auto runs everywhere"
    )
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            ["data=files", "data.train.source=none.en", "data.train.target=none.fr"],
            "data.train.source: none.en: no such file",
        ),
        (
            ["training.guided_alignment=1", "training.guided_links=none.txt"],
            "training.guided_links: none.txt: no such file",
        ),
        (["training.start_from=none"], "training.start_from=none: no such run directory"),
    ],
)
def test_missing_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overrides: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as told:
        train_tiny(tmp_path / "run", "transformer", *overrides)
    assert str(told.value) == message
    assert not (tmp_path / "run").exists()


def test_possible_values_pass(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="the corpus was read"):
        train_tiny(tmp_path / "run")
