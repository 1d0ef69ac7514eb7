"""What a run chooses itself: for its corpus and its time, and never against what is given."""

import json
import os
from pathlib import Path

import pytest
import torch
from omegaconf import OmegaConf

from translate.config.composer import Composer, compose
from translate.config.settings import check_config
from translate.corpora.corpus import Corpus
from translate.corpora.split import Split
from translate.errors import UserError
from translate.runs.fine_tuning import with_model_of_start
from translate.runs.life import train
from translate.runs.load import read_settings
from translate.runs.recipes import (
    BACKENDS,
    Task,
    expanded,
    fit_recipe,
    free_settings,
    recipe_of,
    with_settings,
)
from translate.runs.run_directory import RunDirectory
from translate.runs.start import config_to_resume
from translate.version import __version__

TINY = ("data=grammar", "data.num_train=40", "data.num_validation=4", "data.num_test=4", "runtime.threads=1")


def command(folder: Path, *overrides: str) -> int:
    """`translate train` in this process."""
    given = [*TINY, f"run.directory={folder}", *overrides]
    composer = Composer()
    names = [override.partition("=")[0] for override in given]
    return train(composer.compose(given), free_settings(names, composer.chosen(given)))


GROUPS = {"model": "transformer", "optimizer": "adam", "schedule": "inverse_square_root"}


def test_what_is_given_is_not_chosen():
    everything = free_settings([], GROUPS)
    assert {"optimizer.lr", "schedule.warmup", "training.max_time", "model.width"} <= everything
    free = free_settings(["optimizer.lr", "model.width", "training.max_steps", "tokenizer"], GROUPS)
    assert everything - free == {"optimizer.lr", "model.width", "training.max_steps"}
    for whole in ("optimizer", "optimizer._target_", "optimizer.fused"):  # Muon has no such member
        free = free_settings([whole], GROUPS)
        assert {name for name in everything if name.startswith("optimizer.")} == everything - free
    tuned = free_settings(["training.start_from", "training.max_steps"], GROUPS)
    assert not any(name.startswith(("model.", "tokenizer.")) for name in tuned)
    assert everything - free_settings(["tokenizer.path"], GROUPS) == {"tokenizer.vocabulary_size"}
    assert free_settings([], {**GROUPS, "experiment": "demo"}) == frozenset()
    assert not any(name.startswith("model.") for name in free_settings([], {**GROUPS, "model": "mine"}))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("pairs", "seconds"), [(1, 1.0), (5_000, 120.0), (400_000, 3600.0), (10**8, 10.0**6)]
)
def test_every_choice_is_a_valid_setting(backend: str, pairs: int, seconds: float):
    task = Task(pairs, pairs * 10.0, seconds)
    chosen = expanded(recipe_of(backend, task))
    free = free_settings([], GROUPS | {"model": backend})
    check_config(with_settings(compose([f"model={backend}"]), chosen | {"training.max_steps": None}, free))


@pytest.mark.parametrize(
    ("backend", "in_bfloat16", "tokens", "seconds", "batch", "rate"),
    [
        ("transformer", True, 1e5, 120, 1024, 8e-3),
        ("transformer", True, 1e6, 120, 2048, 8e-3),
        ("transformer", True, 1e6, 3600, 3072, 8e-3),
        ("transformer", False, 1e6, 120, 1024, 6e-3),
        ("rnn_luong", True, 1e6, 120, 1024, 4e-3),
    ],
)
def test_a_transformer_takes_larger_steps_where_bfloat16_is_multiplied(
    backend: str, in_bfloat16: bool, tokens: float, seconds: float, batch: int, rate: float
):
    chosen = recipe_of(backend, Task(10_000, tokens, seconds, in_bfloat16=in_bfloat16))
    assert (chosen["training.batch_tokens"], chosen["optimizer.lr"]) == (batch, rate)


@pytest.mark.parametrize(
    ("tokens", "seconds", "batch", "width"),
    [(50_000, 1e3, 2048, 256), (400_000, 1e3, 4096, 256), (1e7, 1e3, 16_384, 256), (1e7, 1e4, 16_384, 512)],
)
def test_a_gpu_takes_larger_batches_and_learns_much_by_a_larger_model(
    tokens: float, seconds: float, batch: int, width: int
):
    chosen = recipe_of("transformer", Task(int(tokens / 10), tokens, seconds, on_gpu=True))
    assert (chosen["training.batch_tokens"], chosen["model.width"]) == (batch, width)


@pytest.mark.parametrize(
    ("line", "count", "guided"),
    [
        ("a b", 3, True),
        ("b " * 61, 3, False),
        ("\u6211" * 61, 3, False),
        ("b " * 20, 100_000, True),  # (40 + 12) million possible links, 52 seconds of 600
        ("b " * 20, 400_000, True),  # 172 seconds
        ("b " * 20, 800_000, False),
    ],
)
def test_sentences_too_long_or_too_many_for_links_guide_no_attention(line: str, count: int, guided: bool):
    train_split = Split([line] * count, [line] * count)
    corpus = Corpus("own", "en", "fr", train=train_split, validation=None, test=None, dropped={})
    config, lines = fit_recipe(compose(), free_settings([], GROUPS), corpus)
    assert (config.training.guided_alignment > 0) == guided
    assert ("would take about 6 minutes" in lines[-1]) == (count == 800_000)
    few = compose(["training.max_steps=1"])  # said in steps, a run may wait a little for its links
    config, _ = fit_recipe(few, free_settings(["training.max_steps"], GROUPS), corpus)
    assert (config.training.guided_alignment > 0) == (guided and count == 3)


def test_validations_are_counted_in_the_steps_that_a_given_batch_makes() -> None:
    """A step of sixteen batches takes as long as sixteen steps, and a run of few steps is validated, too."""
    train_split = Split(["a b c d e f g h"] * 29_000, ["a b c d e f g h"] * 29_000)
    corpus = Corpus("own", "en", "fr", train=train_split, validation=None, test=None, dropped={})
    every = {}
    for given in ([], ["training.batch_tokens=16384"], ["training.accumulate=8"]):
        names = [override.partition("=")[0] for override in given]
        config, _ = fit_recipe(compose(given), free_settings(names, GROUPS), corpus)
        training = config.training
        every[str(given)] = training.validate_every * training.batch_tokens * training.accumulate
    usual, *others = every.values()
    assert others == pytest.approx([usual, usual], rel=0.05)


@pytest.mark.parametrize(
    "given", ["model.teacher_forcing=0.5", "training.teacher_forcing={decay: linear, steps: 100}"]
)
def test_no_links_guide_what_the_model_itself_has_written(given: str) -> None:
    pairs = Split(["a b"] * 30, ["b a"] * 30)
    corpus = Corpus("own", "en", "fr", train=pairs, validation=pairs, test=None, dropped={})
    overrides = ["model=rnn_bahdanau", given]
    names = [override.partition("=")[0] for override in overrides]
    config, _ = fit_recipe(compose(overrides), free_settings(names, Composer().chosen(overrides)), corpus)
    assert config.training.guided_alignment == 0
    check_config(config)


@pytest.mark.parametrize(
    ("given", "shift"),
    [
        (["training.max_time=20000"], 1),
        (["training.max_time=20"], 1),
        (["training.guided_alignment=0"], 0),
        (["training.guided_shift=0"], 0),
        (["model=rnn_luong"], 0),
        (["model=rnn_bahdanau"], 0),
        (["model=rnn_bahdanau", "model.word_in_query=false"], 0),
    ],
)
def test_the_guided_head_of_a_transformer_says_what_was_read(given: list[str], shift: int) -> None:
    pairs = Split(["a b"] * 30, ["b a"] * 30)
    corpus = Corpus("own", "en", "fr", train=pairs, validation=pairs, test=None, dropped={})
    names, composer = [override.partition("=")[0] for override in given], Composer()
    config, lines = fit_recipe(compose(given), free_settings(names, composer.chosen(given)), corpus)
    assert config.training.guided_shift == shift
    assert config.training.validation_pairs == 30  # those that there are
    assert any("training.guided_shift=1" in line for line in lines) == shift
    differs = any("which the paper's does not" in line for line in lines)  # from Bahdanau's query
    assert differs == (given == ["model=rnn_bahdanau"])
    check_config(config)


@pytest.mark.parametrize("guided", [False, True])
@pytest.mark.parametrize(
    ("pairs", "given", "length"),
    [
        (150, [], {"max_epochs": 10, "max_time": None}),
        (150, ["training.max_time=60"], {"max_epochs": None, "max_time": 60}),
        (900_000, [], {"max_epochs": None, "max_time": 600}),
    ],
)
def test_a_run_that_starts_from_another_one_takes_small_steps_and_guides_the_same_head(
    tmp_path: Path, guided: bool, pairs: int, given: list[str], length: dict[str, float | None]
) -> None:
    """Where pairs are few, it reads them few times; of model and vocabulary nothing is left to choose."""
    before = compose(["model.width=16"])
    before.training.update(guided_alignment=0.5 * guided, guided_layer=2, guided_shift=1)
    (tmp_path / "config.yaml").write_text(
        f"version: {__version__}\n{OmegaConf.to_yaml(before, resolve=True)}"
    )
    given = [*given, f"training.start_from={tmp_path}"]
    names, composer = [override.partition("=")[0] for override in given], Composer()
    split = Split(["a b c d"] * pairs, ["b a c d"] * pairs)
    corpus = Corpus("own", "en", "fr", train=split, validation=split, test=None, dropped={})
    config = with_model_of_start(composer.compose(given), names)
    config, lines = fit_recipe(config, free_settings(names, composer.chosen(given)), corpus)
    settings = check_config(config)
    assert settings.model["width"] == 16
    assert {name: getattr(settings.training, name) for name in length} == length
    assert settings.training.guided_of(3) == (2 if guided else None)
    assert settings.training.guided_shift == int(guided)
    alone, _ = fit_recipe(compose(), free_settings([], GROUPS), corpus)
    assert settings.optimizer["_target_"] == alone.optimizer["_target_"]
    assert settings.optimizer["lr"] == alone.optimizer.lr / (8 if pairs == 150 else 2)
    assert not any(word in line for word in ("model.", "vocabulary", "None") for line in lines)
    assert any("guided_layer=2" in line for line in lines) == guided
    if pairs == 150:  # about 8,000 pieces in ten readings
        assert 1 <= settings.training.validate_every <= 5
        assert settings.schedule["warmup"] <= 3


def test_an_rnn_or_a_model_of_ones_own_goes_on_by_adam(tmp_path: Path) -> None:
    """Whatever the command line knows of the run to start from: no backend is given there."""
    split = Split(["a b c d"] * 50, ["b a c d"] * 50)
    corpus = Corpus("own", "en", "fr", train=split, validation=split, test=None, dropped={})
    given, names = [f"training.start_from={tmp_path}"], ["training.start_from"]
    for name in ("rnn_luong", "mine"):
        before = compose(["model=rnn_luong"])
        before.model.name = name
        (tmp_path / "config.yaml").write_text(
            f"version: {__version__}\n{OmegaConf.to_yaml(before, resolve=True)}"
        )
        config = with_model_of_start(compose(given), names)
        config, _ = fit_recipe(config, free_settings(names, Composer().chosen(given)), corpus)
        found = check_config(config).optimizer
        assert found["_target_"] == "torch.optim.Adam"
        assert found["fused"] is True
        assert found["lr"] == 5e-4


def test_a_schedule_that_is_given_ends_with_the_time_as_the_chosen_one_does() -> None:
    pairs = Split(["a b"] * 30, ["b a"] * 30)
    corpus = Corpus("own", "en", "fr", train=pairs, validation=None, test=None, dropped={})
    found = []
    for given in (
        ["training.max_time=30"],
        ["training.max_time=30", "schedule=linear", "schedule.warmup=100"],
    ):
        names, composer = [override.partition("=")[0] for override in given], Composer()
        config, lines = fit_recipe(compose(given), free_settings(names, composer.chosen(given)), corpus)
        found.append(check_config(config).schedule)
        assert "training.validation_pairs" not in "".join(lines)  # there are none
    assert found[0] == found[1]
    assert found[0]["total"] is None


@pytest.mark.slow
def test_a_run_chooses_says_so_and_goes_on_with_its_choices(tmp_path: Path, capsys):
    run = tmp_path / "run"
    given = ["model.width=16", "training.ema=null", "runtime.precision=float32"]
    assert command(run, "training.max_steps=2", *given) == 0
    output = capsys.readouterr().out
    settings = read_settings(RunDirectory(run))
    assert "chosen for 40 training pairs and training.max_steps=2" in output
    assert (
        "  optimizer=muon optimizer.lr=0.006 optimizer.ns_steps=3 schedule=linear schedule.warmup=0\n"
        in output
    )
    assert "guided: one head of attention learns word links; training.guided_alignment=0 leaves it" in output
    assert "note: fewer than 1,000 pairs are soon learnt by heart; other sentences need thousands" in output
    assert f"model.encoder_layers={settings.model['encoder_layers']}" in output
    assert settings.model["width"] == 16
    assert "model.width" not in output
    assert settings.training.ema is None
    assert settings.training.max_steps == 2
    assert settings.optimizer["_target_"].endswith("Muon")
    assert (settings.schedule["_target_"][-6:], settings.schedule["warmup"]) == ("Linear", 0)  # of two steps
    assert command(run, "training.max_steps=4", "training.resume=true", *given) == 0
    assert "resumed at step 2" in capsys.readouterr().out


@pytest.mark.slow
def test_less_time_than_a_run_has_had_is_refused(tmp_path: Path, capsys) -> None:
    """It would end at once, and be scored as it is."""
    run = tmp_path / "run"
    assert command(run, "training.max_time=2") == 0
    state = torch.load(run / "checkpoints" / "last" / "state.pt", weights_only=True)
    state["progress"] |= {"finished": None, "elapsed": 52.0}  # as of a longer run that a signal has ended
    torch.save(state, run / "checkpoints" / "last" / "state.pt")
    (run / "checkpoints" / "last" / "SHA256SUMS").unlink()
    with pytest.raises(UserError, match=r"max_time=10: the whole time .* it has had 52 seconds: give more"):
        train(config_to_resume(run, ["training.max_time=10"]))


@pytest.mark.slow
def test_a_run_without_an_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"needs an end: give training\.max_time, max_steps or max_epochs"):
        command(tmp_path / "run", "training.max_time=null", "training.max_steps=null")


def test_more_threads_than_cores_are_told(tmp_path: Path, capsys, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    assert command(tmp_path / "run", "training.max_steps=1", "runtime.threads=2") == 0
    assert "note: runtime.threads=2 for 1 core: more are slower\n" in capsys.readouterr().out


def test_time_is_the_length_of_a_run(tmp_path: Path, capsys):
    run = tmp_path / "run"
    assert command(run, "training.max_time=2", "model=rnn_bahdanau") == 0
    assert "training ended: max_time" in capsys.readouterr().out
    steps = json.loads((run / "scores.json").read_text())["steps"]
    assert train(config_to_resume(run, [])) == 0
    more = f"translate resume {run} training.max_time=4\n"
    assert capsys.readouterr().out.endswith(f" after 2 seconds; nothing to do; for twice that: {more}")
    assert train(config_to_resume(run, ["training.max_time=5"])) == 0
    assert f"resumed at step {steps}" in capsys.readouterr().out
    assert json.loads((run / "scores.json").read_text())["steps"] > steps


@pytest.mark.parametrize(
    "override", ["model/attention=dot", "run.name=b", "run.directory=b", "data=files", "model=rnn_luong"]
)
def test_what_a_run_that_goes_on_keeps(tmp_path: Path, override: str):
    with pytest.raises(UserError, match=f"{override}: a run that goes on keeps its folder, model and corpus"):
        config_to_resume(tmp_path, [override])
