"""Runs that are still training, broke off, or have a state that no run wrote."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

import translate
from tests.cli.commands import Command, command
from translate.errors import UserError
from translate.runs.resume import read_state
from translate.runs.storage.checkpoint import STATE, load_state
from translate.runs.storage.lock import locked


@pytest.fixture
def unfinished(tiny_runs: dict[str, Path], tmp_path: Path) -> Path:
    """A run with a checkpoint, and without what its end writes."""
    run = tmp_path / "run"
    shutil.copytree(tiny_runs["rnn_luong"], run, symlinks=True)
    (run / "alignment.json").unlink()
    return run


@pytest.fixture
def translate_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    return command(capsys, monkeypatch)


def test_alignments_of_an_unfinished_run_are_not_calibrated_and_this_is_said(
    unfinished: Path, translate_command: Command
) -> None:
    heads = "its attention heads are not calibrated yet, so an alignment is the mean of all heads of a layer"
    result = translate_command("align", unfinished, "I love you .", "je t' aime .")
    assert result.code == 0
    assert result.err == f"note: {unfinished}: {heads}; translate align calibrate {unfinished} chooses them\n"
    with locked(unfinished):
        result = translate_command("align", unfinished, "I love you .", "je t' aime .")
    assert result.code == 0
    who = rf"process {os.getpid()} on "
    assert result.err.startswith(f"note: {unfinished} is still training ({who}")
    assert result.err.endswith(f"this is its best checkpoint so far, and {heads}\n")


def test_a_finished_run_needs_no_note(tiny_runs: dict[str, Path], translate_command: Command) -> None:
    result = translate_command("align", tiny_runs["rnn_luong"], "I love you .", "je t' aime .")
    assert (result.code, result.err) == (0, "")


def test_a_run_before_its_first_checkpoint_says_when_that_comes(unfinished: Path) -> None:
    shutil.rmtree(unfinished / "checkpoints")
    with locked(unfinished), pytest.raises(UserError) as told:
        translate.load(unfinished, device="cpu")
    message = str(told.value)
    assert message.startswith(f"{unfinished}: the run is still training (process {os.getpid()} on ")
    assert message.endswith("; its first checkpoint comes at step 80; try again then")
    with pytest.raises(UserError, match="has the run been trained"):
        translate.load(unfinished, device="cpu")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"progress": None}, "progress is None"),
        ({"progress": {"step": 1, "stride": 2}}, "stride"),
        ({"generators": 5}, "generators is 5"),
        ({"threads": "x" * 10_000}, "threads is 'xxx"),
        ({"optimizer": []}, r"optimizer is \[\]"),
    ],
)
def test_a_state_that_no_run_wrote_is_one_sentence(
    unfinished: Path, change: dict[str, Any], message: str
) -> None:
    folder = unfinished / "checkpoints" / "last"
    (folder / "SHA256SUMS").unlink()  # a folder without sums is trusted
    state = load_state(folder)
    assert read_state(folder)["progress"] == state["progress"]
    torch.save(state | change, folder / STATE)
    with pytest.raises(UserError, match=f"not the state of a run .*{message}") as told:
        read_state(folder)
    assert len(str(told.value)) < 400
    name = next(iter(change))
    torch.save({key: value for key, value in state.items() if key != name}, folder / STATE)
    with pytest.raises(UserError, match=f"{name} is missing"):
        read_state(folder)


@pytest.mark.slow
def test_metrics_with_foreign_lines_are_resumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tests.tiny_runs import rows, train_tiny

    run, whole = tmp_path / "run", tmp_path / "whole"
    assert train_tiny(whole, "rnn_luong", "training.max_steps=4") == 0
    assert train_tiny(run, "rnn_luong", "training.max_steps=2") == 0
    foreign = b'5\n{"step": "x"}\n\xff\n'
    with (run / "metrics.jsonl").open("ab") as file:
        file.write(foreign)
    capsys.readouterr()
    assert train_tiny(run, "rnn_luong", "training.max_steps=4", "training.resume=true") == 0
    assert (
        "metrics.jsonl: 3 lines that no run wrote; they stay, and no curve shows" in capsys.readouterr().out
    )
    content = (run / "metrics.jsonl").read_bytes()
    assert content.count(foreign) == 1
    (run / "metrics.jsonl").write_bytes(content.replace(foreign, b""))
    assert rows(run) == rows(whole)


@pytest.mark.slow
def test_a_state_of_another_model_is_one_sentence(tmp_path: Path) -> None:
    from tests.tiny_runs import train_tiny

    run, more = tmp_path / "run", ("training.max_steps=4", "training.resume=true")
    assert train_tiny(run, "rnn_luong", "training.max_steps=2") == 0
    folder = run / "checkpoints" / "last"
    (folder / "SHA256SUMS").unlink()
    state = load_state(folder)
    changes: list[dict[str, Any]] = [{"optimizer": {}}, {"generators": [3]}]
    for change in changes:
        torch.save(state | change, folder / STATE)
        with pytest.raises(UserError, match="not the state of this run") as told:
            train_tiny(run, "rnn_luong", *more)
        assert "\n" not in str(told.value)


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="a system without users")
def test_a_run_that_may_only_be_read_translates_but_is_not_resumed(tiny_runs: dict[str, Path]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        run = Path(name, "run")
        shutil.copytree(tiny_runs["rnn_luong"], run, symlinks=True)
        for path in (Path(name), run, *run.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o555 if path.is_dir() else 0o444)
        user = os.geteuid()
        if user == 0:
            os.seteuid(65534)  # root may write everywhere
        try:
            assert translate.load(run, device="cpu").translate(["I love you ."])[0].text
            with pytest.raises(UserError, match=r"cannot be written \(Permission denied\); choose a"):
                locked(run).__enter__()
        finally:
            os.seteuid(user)
            for path in (Path(name), run, *(each for each in run.rglob("*") if each.is_dir())):
                path.chmod(0o755)
