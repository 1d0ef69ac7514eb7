"""Runs that are still training, broke off, or have a state that no run wrote."""

import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

import translate
from tests.cli.commands import Command, command
from translate.errors import UserError
from translate.runs.checkpoint import STATE, load_state
from translate.runs.run_directory import IN_USE
from translate.text.folder_lock import locked


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
    assert "not calibrated" not in translate_command("text", unfinished, "I love you .").err
    result = translate_command("align", unfinished, "I love you .", "je t' aime .")
    assert result.code == 0
    assert result.err.startswith(f"note: {unfinished}: its alignments are not calibrated yet")


def test_a_run_that_still_trains_is_told_with_its_checkpoint(
    tiny_runs: dict[str, Path], translate_command: Command
) -> None:
    run = tiny_runs["rnn_luong"]
    step = (run / "checkpoints" / "best").resolve().name
    for arguments in (("text", run, "I love you ."), ("align", run, "I love you .", "je t' aime .")):
        assert "still trains" not in translate_command(*arguments).err
        with locked(run, IN_USE):
            says = f"^note: {re.escape(str(run))}: .* still trains it; its best so far, {step}, is used\n"
            assert re.match(says, translate_command(*arguments).err)


@pytest.mark.slow
def test_a_state_of_another_model_is_one_sentence(tmp_path: Path) -> None:
    from tests.tiny_runs import train_tiny

    run, more = tmp_path / "run", ("training.max_steps=4", "training.resume=true")
    assert train_tiny(run, "rnn_luong", "training.max_steps=2") == 0
    folder = run / "checkpoints" / "last"
    (folder / "SHA256SUMS").unlink()
    state = load_state(folder)
    changes: list[dict[str, Any]] = [
        {"optimizer": {}},
        {"generators": [3]},
        {"progress": {"stop": 2}},
        {"progress": state["progress"] | {"step": "two"}},
        {"group_size": None},
        {"identity": [("data.train", "none")]},
        *({"threads": threads} for threads in (0, 10**9, "two")),
    ]
    read_at_once = ("progress", "threads", "group_size", "identity")
    lacking = [{key: value for key, value in state.items() if key != name} for name in read_at_once]
    for changed in [*(state | change for change in changes), *lacking, {"x": 1}]:
        torch.save(changed, folder / STATE)
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
                locked(run, IN_USE).__enter__()
        finally:
            os.seteuid(user)
            for path in (Path(name), run, *(each for each in run.rglob("*") if each.is_dir())):
                path.chmod(0o755)
