"""What may go wrong in a run, and what is left then."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.disks import largest_file
from tests.tiny_runs import files, overrides_of, rows, train_tiny
from translate.cli.main import run as run_command
from translate.corpora.caches import one_at_a_time
from translate.errors import UserError
from translate.figures import plots
from translate.runs import encoding, run_scores
from translate.runs.checkpoint import load_state
from translate.runs.run_directory import IN_USE, RunDirectory
from translate.text.folder_lock import locked
from translate.text.tokenizer import TokenizerPair

pytestmark = pytest.mark.slow

MORE = ("training.save_every=2", "training.keep_last=9")


def weights(run: Path) -> bytes:
    return (run / "checkpoints" / "last" / "model.safetensors").read_bytes()


def test_a_full_disk_leaves_the_last_checkpoint_and_the_run_goes_on_from_it(tmp_path: Path) -> None:
    run, whole = tmp_path / "run", tmp_path / "whole"
    assert train_tiny(run, "rnn_luong", *MORE, "training.max_steps=4") == 0
    state = (run / "checkpoints" / "last" / "state.pt").stat().st_size
    more = (*MORE, "training.resume=true")
    with largest_file(state // 2), pytest.raises(UserError, match="cannot be written") as told:
        train_tiny(run, "rnn_luong", *more)
    assert f"the last checkpoint is {run}/checkpoints/step-00000004" in str(told.value)
    assert str(told.value).count("the last checkpoint is") == 1
    assert not list((run / "checkpoints").glob(".translate-writing-*"))
    assert load_state(run / "checkpoints" / "last")["progress"]["step"] == 4
    assert train_tiny(run, "rnn_luong", *more) == 0
    assert train_tiny(whole, "rnn_luong", *MORE) == 0
    assert weights(run) == weights(whole)


def limited(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, in which the disk is full."""

    def call(*given: Any, **options: Any) -> Any:
        with largest_file(100):
            return function(*given, **options)

    return call


@pytest.mark.parametrize(
    ("owner", "name", "file"),
    [
        (RunDirectory, "write_config", "config.yaml"),
        (TokenizerPair, "save", "tokenizer"),
        (RunDirectory, "log", "metrics.jsonl"),
        (run_scores, "store", "alignment.json"),
        (plots, "draw_curves", "plots/curves.png"),
        (run_scores, "write_card", "README.md"),
        (run_scores, "write_text", "scores.json"),
    ],
)
def test_a_full_disk_at_any_write_is_one_sentence_and_the_run_goes_on(
    tmp_path: Path,
    owner: object,
    name: str,
    file: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    run, more = tmp_path / "run", ("training.max_steps=2", "training.resume=true")
    monkeypatch.setattr(owner, name, limited(getattr(owner, name)))
    with pytest.raises(UserError, match=r"cannot be written \(File too large\); ") as told:
        train_tiny(run, "rnn_luong", *more, draw=owner is plots)
    message = str(told.value)
    where = run if file == "metrics.jsonl" else run / file
    assert message.startswith(f"{where}: ")
    assert "choose another folder; " in message
    assert message.count("\n") == 0
    assert "Traceback" not in capfd.readouterr().err
    assert not list(run.rglob(".translate-writing-*"))
    monkeypatch.undo()
    assert train_tiny(run, "rnn_luong", *more) == 0
    assert (run / "scores.json").exists()


def test_a_damaged_checkpoint_is_left_for_the_one_before_it(tmp_path: Path) -> None:
    run, whole = tmp_path / "run", tmp_path / "whole"
    assert train_tiny(whole, "rnn_luong", *MORE) == 0
    shutil.copytree(whole, run, symlinks=True)
    (run / "scores.json").unlink()
    path = run / "checkpoints" / "last" / "state.pt"
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 255
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"damaged.*training\.resume_from=step-00000008") as told:
        train_tiny(run, "rnn_luong", *MORE, "training.resume=true")
    assert str(path) in str(told.value)
    more = ("training.resume=true", "training.resume_from=step-00000008")
    assert train_tiny(run, "rnn_luong", *MORE, *more) == 0
    assert weights(run) == weights(whole)
    assert rows(run) == rows(whole)


def test_changed_texts_and_tokenizers_are_all_listed(tmp_path: Path) -> None:
    run, corpus = tmp_path / "run", tmp_path / "corpus"
    corpus.mkdir()
    for split, text in (("train", "a b c\nd e f\ng h i\n" * 20), ("val", "a d\ne h\n")):
        for language in ("en", "fr"):
            (corpus / f"{split}.{language}").write_text(text)
    settings = ["data=files", "tokenizer.vocabulary_size=20", "training.max_steps=2"]
    settings += [
        f"data.{split}.{side}={corpus}/{file}.{language}"
        for split, file in (("train", "train"), ("validation", "val"))
        for side, language in (("source", "en"), ("target", "fr"))
    ]
    assert train_tiny(run, "rnn_luong", *settings) == 0
    again = (*settings, "training.max_steps=3", "training.resume=true")
    moved = corpus.rename(tmp_path / "moved")
    with pytest.raises(UserError, match=r"; give its place now, such as data\.train\.source="):
        train_tiny(run, "rnn_luong", *again)
    assert train_tiny(run, "rnn_luong", *(text.replace(str(corpus), str(moved)) for text in again)) == 0
    other = f"; for other data: translate train training.start_from={run}"
    with pytest.raises(UserError, match=f"is finished after 3 steps; nothing to do.*{re.escape(other)}$"):
        train_tiny(run, "rnn_luong", *again)
    moved.rename(corpus)
    (corpus / "train.fr").write_text("a b c\nd e f\ng h X\n" * 20)
    (corpus / "val.en").write_text("a d\ne H\n")
    again, before = (*again, "training.max_steps=4"), files(run)
    with pytest.raises(UserError, match="cannot resume with other data: ") as told:
        train_tiny(run, "rnn_luong", *again)
    assert "data.train (its text) was '60 pairs " in str(told.value)
    assert "data.validation (its text) was '2 pairs " in str(told.value)
    assert "tokenizer" not in str(told.value)
    assert files(run) == before


def test_a_run_that_is_at_work_is_refused(tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert train_tiny(run, "rnn_luong", "training.max_steps=1") == 0
    for more in ("training.resume=true", "run.overwrite=true"):
        with (
            locked(run, IN_USE),
            pytest.raises(UserError, match=rf"process {os.getpid()} on .* works in this"),
        ):
            train_tiny(run, "rnn_luong", "training.max_steps=2", more)
    assert train_tiny(run, "rnn_luong", "training.max_steps=2", "training.resume=true") == 0
    assert not (run / "run.lock").exists()


def test_what_is_left_of_a_run_that_was_killed_at_its_beginning_is_no_obstacle(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "run.lock").write_text('{"pid": 1')
    (run / ".translate-writing-abcdefgh").mkdir()
    (run / ".translate-writing-abcdefgh" / "config.yaml").write_text("half")
    assert train_tiny(run, "rnn_luong", "training.max_steps=1") == 0


def test_steps_without_numbers_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    settings = (
        "optimizer=sgd",
        "optimizer.lr=1e12",
        "optimizer.weight_decay=1e12",
        "training.clip_norm=null",
        "training.ema=null",
    )
    with pytest.raises(UserError, match=r"^step [23]: loss .*\.non_finite=skip; there is no checkpoint"):
        train_tiny(run, "rnn_luong", *settings, "schedule.warmup=0")
    skip = ("training.non_finite=skip", "run.overwrite=true", "training.save_every=1")
    with pytest.raises(UserError, match=r"so were the 9 steps before it.*; the last checkpoint is"):
        train_tiny(run, "rnn_luong", *settings, *skip, "schedule.warmup=0", "training.max_steps=20")
    steps = [row["step"] for row in rows(run, "note")]
    assert steps == list(range(steps[0], steps[0] + 9))
    assert "not both finite" in capsys.readouterr().out


def test_the_encoded_corpus_comes_from_the_cache_and_trains_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cache = f"runtime.cache={tmp_path}/cache"
    settings = ("training.guided_alignment=1", "training.max_steps=4")
    assert train_tiny(tmp_path / "none", "rnn_luong", *settings, "runtime.cache=null") == 0
    assert not (tmp_path / "cache").exists()
    assert train_tiny(tmp_path / "first", "rnn_luong", *settings, cache) == 0
    out = capsys.readouterr().out
    assert "\nencoding the corpus\n" in out
    assert "encoded corpus from" not in out

    def refuse(*arguments: object, **options: object) -> None:
        raise AssertionError("it was encoded again")

    with monkeypatch.context() as patch:
        patch.setattr(encoding, "encode", refuse)
        assert train_tiny(tmp_path / "second", "rnn_luong", *settings, cache) == 0
        (found,) = (tmp_path / "cache" / "encoded").iterdir()
        out = capsys.readouterr().out
        assert f"encoded corpus from {found}" in out
        assert "encoding the corpus" not in out
        different = ("data.num_train=301", "data.max_length=5", "tokenizer.vocabulary_size=300")
        for other in (*different, "data.num_validation=12", "training.guided_gold=false"):
            with pytest.raises(AssertionError, match="again"):
                train_tiny(tmp_path / "other", "rnn_luong", *settings, cache, other)
    assert weights(tmp_path / "none") == weights(tmp_path / "first") == weights(tmp_path / "second")
    found.write_bytes(found.read_bytes()[:100])
    assert train_tiny(tmp_path / "third", "rnn_luong", *settings, cache) == 0
    assert weights(tmp_path / "third") == weights(tmp_path / "first")


def test_runs_side_by_side_encode_their_corpus_once(tmp_path: Path) -> None:
    """The second waits for the first, here a thread that holds the lock, and reads what it has written."""
    settings = ["training.guided_alignment=1", "training.max_steps=1", f"runtime.cache={tmp_path}/cache"]
    assert run_command(["train", *overrides_of(tmp_path / "first", "rnn_luong", *settings)]) == 0
    (found,) = (tmp_path / "cache" / "encoded").iterdir()
    content = found.read_bytes()
    found.unlink()
    command = [sys.executable, "-m", "translate.cli.main", "train"]
    command += overrides_of(tmp_path / "second", "rnn_luong", *settings)
    with one_at_a_time(found):
        second = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert second.stdout is not None
        lines = []
        for line in second.stdout:
            lines.append(line)
            if "waiting for another process" in line:
                break
        else:
            raise AssertionError("".join(lines))
        found.write_bytes(content)
    rest = second.stdout.read()
    assert second.wait() == 0, rest
    assert f"encoded corpus from {found}" in rest
    assert "links estimated" not in "".join(lines) + rest
    assert weights(tmp_path / "second") == weights(tmp_path / "first")
    assert list(found.parent.iterdir()) == [found]  # no lock is left


def test_a_cache_that_cannot_be_written_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    cache = f"runtime.cache={tmp_path}/file/cache"
    assert train_tiny(tmp_path / "run", "rnn_luong", "training.max_steps=1", cache) == 0
    assert "note: the encoded corpus cannot be kept in" in capsys.readouterr().out
