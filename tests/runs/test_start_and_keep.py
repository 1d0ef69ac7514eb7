"""Weights that are taken over, that stay, that are kept."""

import os
import re
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

import translate
from tests.tiny_runs import COMMON, rows, train_tiny
from translate.config.composer import compose
from translate.config.data import TokenizerConfig
from translate.config.settings import check_config
from translate.errors import UserError
from translate.runs.fine_tuning import take_tokenizers, tell_other_languages, with_model_of_start
from translate.runs.life import train
from translate.runs.load import read_settings
from translate.runs.run_directory import RunDirectory
from translate.text.tokenizer import TokenizerPair, train_tokenizer
from translate.training.update import Update

pytestmark = pytest.mark.slow


def saved(run: Path, name: str = "last") -> dict[str, torch.Tensor]:
    return load_file(run / "checkpoints" / name / "model.safetensors")


def test_frozen_parameters_stay_and_others_move(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights = []
    for steps in (1, 3):
        run = tmp_path / str(steps)
        settings = (f"training.max_steps={steps}", "training.freeze=['encoder.*','attention.*']")
        assert train_tiny(run, "rnn_luong", *settings, "training.ema=null") == 0
        weights.append(saved(run))
    assert "frozen ones" in capsys.readouterr().out
    moved = {name for name in weights[0] if not torch.equal(weights[0][name], weights[1][name])}
    assert moved
    assert all(name.startswith(("encoder.", "attention.")) != (name in moved) for name in weights[0])


def tune(directory: Path, other: Path, *overrides: str) -> int:
    """Train from another run as the command does, with no other settings of model and tokenizer."""
    sections = ("training.", "data.", "search.", "runtime.")
    steps = [setting for setting in COMMON if setting.startswith(sections)]
    given = [f"run.directory={directory}", f"training.start_from={other}", *steps, *overrides]
    config = with_model_of_start(compose(given), [override.partition("=")[0] for override in given])
    return train(config)


def test_starting_from_another_run(
    tmp_path: Path, tiny_runs: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    run, other = tmp_path / "run", tiny_runs["rnn_luong"]
    settings = ("training.max_steps=1", "optimizer.lr=0", "training.ema=null", "model.dropout=0.5")
    assert tune(run, other, *settings) == 0
    now, then = saved(run), saved(other, "best")
    assert now.keys() == then.keys()
    assert all(torch.equal(now[name], then[name]) for name in now)
    model, before = (read_settings(RunDirectory(path)).model for path in (run, other))
    assert model == before | {"dropout": 0.5}
    count = sum(tensor.numel() for tensor in now.values())
    told = f"started from {other}/checkpoints/best: its tokenizer, its model and all {count:,} parameters\n"
    out = capsys.readouterr().out
    assert told in out
    assert "\nsince the start  nothing gained: no step was better, " in out
    shutil.copytree(other, tmp_path / "gone")
    assert tune(tmp_path / "second", tmp_path / "gone", "training.max_steps=1") == 0
    shutil.rmtree(tmp_path / "gone")  # a resumed run does not need it any more
    more = ("training.max_steps=2", "training.resume=true")
    assert tune(tmp_path / "second", tmp_path / "gone", *more) == 0
    tokenizers = [(path / "tokenizer" / "shared.model").read_bytes() for path in (run, other)]
    assert tokenizers[0] == tokenizers[1]


def test_a_head_that_the_start_was_taught_stays_marked(tmp_path: Path) -> None:
    start, run = tmp_path / "start", tmp_path / "run"
    guided = ("training.guided_alignment=0.5", "alignment.layer=0", "alignment.heads=[0]")
    assert train_tiny(start, "rnn_luong", "training.max_steps=1", *guided) == 0
    assert tune(run, start, "training.max_steps=1", *guided[1:]) == 0
    assert "| started from | start, its model and its weights |" in (run / "README.md").read_text()
    shutil.rmtree(start)
    assert "(guided)" in translate.load(run, device="cpu").choice.caption


def test_the_start_is_validated_and_what_changed_is_told(
    tmp_path: Path, tiny_runs: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    run, other = tmp_path / "run", tiny_runs["rnn_luong"]
    settings = ("training.max_steps=2", "training.best_metric=nll", "data.num_train=20", "data.seed=2")
    assert tune(run, other, *settings) == 0
    first, last = rows(run, "validation")
    assert (first["step"], last["step"]) == (0, 2)
    assert last["nll"] < first["nll"]  # on the few new sentences
    out = capsys.readouterr().out
    assert f"\nsince the start  nll {first['nll']:.3f} -> {last['nll']:.3f}, " in out
    assert re.search(r"\nsince the start .*; of \d+ pairs, so it may be chance\n", out)
    assert os.readlink(run / "checkpoints" / "best") == "step-00000002"


def test_pairs_in_other_languages_than_the_start_are_told(
    tmp_path: Path, tiny_runs: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    other = tiny_runs["rnn_luong"]
    assert tune(tmp_path / "same", other, "training.max_steps=1") == 0
    assert "little of it helps" not in capsys.readouterr().out
    swapped = ("data.source_language=fr", "data.target_language=en")
    assert tune(tmp_path / "swapped", other, "training.max_steps=1", *swapped) == 0
    told = f"warning: {other} translates en to fr, and these pairs are fr to en: little of it helps; exchange"
    assert told in capsys.readouterr().out
    corpus: Any = SimpleNamespace(source_language="Français", target_language="English")  # names of columns
    settings = read_settings(RunDirectory(tmp_path / "swapped"))
    tell_other_languages(settings, corpus)
    assert "these pairs are français to english: " in capsys.readouterr().out


def test_no_tag_is_added_to_the_vocabulary_of_another_run(tmp_path: Path) -> None:
    own = train_tokenizer(["a e i o u the i le"] * 20, TokenizerConfig(vocabulary_size=20))
    TokenizerPair(own, own).save(tmp_path / "tokenizer")
    (tmp_path / "config.yaml").touch()
    corpus = ("data=mixture", "data.corpora.own.choice=files", "data.corpora.own.tag='<own>'")
    settings = check_config(compose([*corpus, f"training.start_from={tmp_path}"]))
    with pytest.raises(UserError, match=r"data\.corpora\.own\.tag=<own>: the run starts from .* lacks it"):
        take_tokenizers(settings)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("model.decoder_size=28", "where it is 26; leave it out"),
        ("model=transformer", "where it is rnn_luong; leave it out"),
        ("tokenizer=bpe", "where it is unigram; leave it out"),
        (
            "data.tokenised=False",
            "whose text (en to fr) has spaces around punctuation; make yours so and give "
            "data.tokenised=true, or start from a run on text like yours",
        ),
    ],
)
def test_what_contradicts_the_run_to_start_from_is_refused(
    tmp_path: Path, tiny_runs: dict[str, Path], override: str, message: str
) -> None:
    other = tiny_runs["rnn_luong"]
    backend = () if override.startswith("model=") else ("model=rnn_luong",)
    with pytest.raises(UserError) as told:
        tune(tmp_path / "run", other, *backend, override)
    assert str(told.value) == f"{override}: the run starts from {other}, {message}"
    assert not (tmp_path / "run").exists()


def test_going_on_without_a_corpus_is_no_question_of_its_spaces(
    tmp_path: Path, tiny_runs: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The embedded corpus, which is tokenised, is read where nothing is given."""
    plain = SimpleNamespace(source=SimpleNamespace(tokenised=False))
    monkeypatch.setattr(TokenizerPair, "load", lambda folder: plain)
    with pytest.raises(UserError, match=r"^no corpus is given .*: add data=files data\.train"):
        tune(tmp_path / "run", tiny_runs["rnn_luong"])


def test_a_run_that_fails_at_its_first_step_does_not_block_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"

    def fail(*arguments: object, **options: object) -> None:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    with monkeypatch.context() as patch:
        patch.setattr(Update, "__call__", fail)
        with pytest.raises(RuntimeError, match="cannot be multiplied"):
            train_tiny(run, "rnn_luong")
    assert train_tiny(run, "rnn_luong", "training.max_steps=2") == 0
    assert [row["step"] for row in rows(run)] == [1, 2]


def test_an_own_tokenizer_is_copied_into_the_run_and_what_it_lacks_is_told(
    tmp_path: Path, tiny_runs: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    run, path = tmp_path / "run", tmp_path / "own.model"
    text = ["a e i o u the i le"] * 20
    own = train_tokenizer(text, TokenizerConfig(vocabulary_size=20))
    path.write_bytes(own.model)
    assert train_tiny(run, "rnn_luong", f"tokenizer.path={path}", "training.max_steps=1") == 0
    path.unlink()
    output = capsys.readouterr().out
    shares = re.findall(r"warning: the (\w+) tokenizer lacks ([\d.]+) % of the characters", output)
    assert [name for name, _ in shares] == ["source", "target"]
    assert all(30 < float(share) < 80 for _, share in shares)
    assert translate.load(run).tokenizers.target.all_pieces == own.all_pieces
