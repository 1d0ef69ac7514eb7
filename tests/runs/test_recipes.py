"""What can be switched on in a run: each does something, survives a pause, and is refused where it cannot."""

import math
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.runs.test_pair_sampler import MIXED
from tests.tiny_runs import rows, train_tiny
from translate.errors import UserError

# fmt: off
RECIPES = {
    "augmented": (
        "rnn_luong", *MIXED, "training.guided_alignment=0.1", "training.subword_sampling=0.3",
        "training.word_dropout=0.1",
    ),
    "r_drop": ("transformer", "training.r_drop=5"),
    "forcing": (
        "rnn_bahdanau",
        "training.teacher_forcing.decay=inverse_sigmoid",
        "training.teacher_forcing.k=3",
    ),
    "muon": ("transformer", "optimizer=muon", "schedule=cosine"),
    "adafactor": ("rnn_luong", "optimizer=adafactor"),
    "halving": ("rnn_luong", "optimizer=sgd", "optimizer.lr=1", "schedule=halving", "schedule.epochs=0"),
}
# fmt: on
SETTINGS = (
    "training.log_every=3",
    "training.batch_tokens=400",
    "training.save_every=2",
    "training.keep_last=9",
)


def saved(run: Path, name: str = "last") -> dict[str, torch.Tensor]:
    return load_file(run / "checkpoints" / name / "model.safetensors")


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_trains_and_goes_on_to_the_bit(name: str, tmp_path: Path) -> None:
    backend, *recipe = RECIPES[name]
    if "optimizer=muon" in recipe or "optimizer=adafactor" in recipe:
        recipe.append("optimizer.lr=0.01")
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert train_tiny(whole, backend, *SETTINGS, *recipe) == 0
    shutil.copytree(whole, parts, symlinks=True)  # as if it had been killed after its second checkpoint
    (parts / "scores.json").unlink()
    more = ("training.resume=true", "training.resume_from=step-00000004")
    assert train_tiny(parts, backend, *SETTINGS, *recipe, *more) == 0
    found, wanted = saved(parts), saved(whole)
    assert all(torch.equal(found[key], wanted[key]) for key in wanted)
    lines = rows(whole)
    assert rows(parts) == lines  # the one that began before the pause is whole after it
    assert [row["step"] for row in lines] == [3, 6, 9, 10]
    assert all(math.isfinite(row["loss"]) for row in lines)
    assert lines[-1]["loss"] < lines[0]["loss"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (("transformer", "training.teacher_forcing.decay=exponential", "training.teacher_forcing.k=0.9"),
         "training.teacher_forcing: expected model=rnn_bahdanau or model=rnn_luong; this model"),
        (("rnn_luong", "model.teacher_forcing=0.5", "training.guided_alignment=1"),
         "training.guided_alignment: expected teacher forcing throughout"),
        (("rnn_luong", "training.r_drop=1", "model.dropout=0"),
         "training.r_drop: expected dropout"),
        (("rnn_luong", "tokenizer.model_type=word", "training.subword_sampling=0.1"),
         "training.subword_sampling: a tokenizer of type word splits a word in one way"),
        (("rnn_luong", "tokenizer.model_type=bpe", "training.subword_sampling=1.5"),
         "training.subword_sampling: expected a probability below 1 for bpe, got 1.5"),
        (("rnn_luong", "training.teacher_forcing.decay=linear"),
         "training.teacher_forcing.steps: a value is required"),
        (("rnn_luong", "model/attention=fixed", "training.guided_alignment=1"),
         "training.guided_alignment: expected none, since FixedVector looks at no single word"),
        (("rnn_luong", "training.resume_from=best"), "training.resume_from: it has no effect without"),
        (("rnn_luong", "training.freeze=[encodr.*]"),
         "training.freeze: 'encodr.*' matches no parameter; did you mean encoder."),
        (("rnn_luong", "training.freeze=['*']"), "training.freeze: no parameter is left to train"),
        (("rnn_luong", "training.word_dropout=1"), "training.word_dropout: expected at least 0 and less"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(tmp_path: Path, overrides: tuple[str, ...], message: str) -> None:
    with pytest.raises(UserError) as told:
        train_tiny(tmp_path / "run", *overrides)
    assert str(told.value).startswith(message)
    assert "\n" not in str(told.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["training.patience=2"], "training.patience: this setting needs validations, but the corpus"),
        (["schedule=plateau", "schedule.warmup=0"], "schedule: this setting needs validations"),
        (["training.best_metric=aer", "WITHOUT GOLD"], "has no gold links; choose bleu or nll"),
    ],
)
def test_settings_that_need_more_of_the_corpus(tmp_path: Path, overrides: list[str], message: str) -> None:
    given = ["data.num_validation=0", *overrides]
    if "WITHOUT GOLD" in overrides:
        for language in ("en", "fr"):
            (tmp_path / f"text.{language}").write_text("".join(f"word {language} {i}\n" for i in range(40)))
        sides = (("source", "en"), ("target", "fr"))
        files = [f"data.train.{side}={tmp_path}/text.{language}" for side, language in sides]
        given = ["data=files", "data.validation_pairs=5", *files, overrides[0]]
    with pytest.raises(UserError, match=message):
        train_tiny(tmp_path / "run", "rnn_luong", *given)
    assert not (tmp_path / "run").exists()
