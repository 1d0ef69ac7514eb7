"""The real command, told to end by a signal."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.tiny_runs import overrides_of, rows, train_tiny
from translate.cli.main import run as main
from translate.runs.hooks import Keeper
from translate.training.loop import Training
from translate.training.update import StepReport

pytestmark = pytest.mark.slow

LONG = ["training.max_steps=12", "training.batch_tokens=60", "training.ema=null"]


@contextmanager
def command(run: Path, *overrides: str, pass_fds: Sequence[int] = ()) -> Iterator[subprocess.Popen[str]]:
    given = overrides_of(run, "rnn_luong", *LONG, *overrides)
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "translate.cli.main", "train", *given],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        pass_fds=pass_fds,
        # A shell's background job ignores SIGINT, and so would its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_for(process: subprocess.Popen[str], begins: str) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(begins) or f"  {begins}" in line:
            return
    raise AssertionError(f"no line {begins!r}: {process.communicate()}")


@pytest.mark.parametrize(
    ("number", "code", "name"), [(signal.SIGTERM, 75, "terminated"), (signal.SIGINT, 130, "interrupted")]
)
def test_the_run_is_saved_and_goes_on_as_if_nothing_had_been(
    number: signal.Signals, code: int, name: str, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    with command(run, "training.max_steps=100000") as process:
        wait_for(process, "step 3  ")
        process.send_signal(number)
        output, errors = process.communicate(timeout=120)
    assert process.returncode == code
    assert "Traceback" not in errors
    assert f"{name}: the run is saved" in errors
    last = int(os.readlink(run / "checkpoints" / "last").removeprefix("step-"))
    assert f"{name} at step {last:,}: saved; go on with: translate resume {run}\n" in output
    assert last >= 3
    assert rows(run)[-1]["step"] == last
    assert not (run / "scores.json").exists()
    end = f"training.max_steps={last + 4}"
    _, printed = next(line for line in output.splitlines() if "go on with: " in line).split(": translate ")
    assert main([*shlex.split(printed), end]) == 0
    whole = tmp_path / "whole"
    assert train_tiny(whole, "rnn_luong", *LONG, end) == 0
    assert rows(run) == rows(whole)
    saved = [each / "checkpoints" / "last" / "model.safetensors" for each in (run, whole)]
    assert saved[0].read_bytes() == saved[1].read_bytes()
    assert json.loads((run / "scores.json").read_text())["steps"] == last + 4


@pytest.mark.parametrize("step", [10, 12])
def test_in_a_step_with_a_validation_it_is_left_for_later(
    step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Interrupted in step 10 or 12 of 12, then resumed: as if nothing had been, to the best checkpoint."""
    own, run, whole = Keeper.__call__, tmp_path / "run", tmp_path / "whole"

    def call(keeper: Keeper, training: Training, report: StepReport) -> str | None:
        if training.progress.step == step:
            os.kill(os.getpid(), signal.SIGTERM)
        return own(keeper, training, report)

    settings = ("rnn_luong", *LONG, "training.validate_every=5", "training.best_metric=nll")
    monkeypatch.setattr(Keeper, "__call__", call)
    assert train_tiny(run, *settings) == 75
    said = capsys.readouterr().out.splitlines()[-1]
    how = ", the last one: saved; this scores the run" if step == 12 else ": saved; go on with"
    assert said == f"terminated at step {step}{how}: translate resume {run}"
    assert [row["step"] for row in rows(run, "validation")] == ([5, 10] if step == 12 else [5])
    monkeypatch.setattr(Keeper, "__call__", own)
    assert train_tiny(run, *settings, "training.resume=true") == 0
    assert train_tiny(whole, *settings) == 0
    for kind in ("train", "validation"):
        assert rows(run, kind) == rows(whole, kind)
    assert os.readlink(run / "checkpoints" / "best") == os.readlink(whole / "checkpoints" / "best")
    assert (run / "scores.json").exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 75), (signal.SIGINT, 130)])
def test_before_the_first_step_there_is_nothing_to_save(
    number: signal.Signals, code: int, tmp_path: Path
) -> None:
    """While the corpus is read: a pipe takes the place of a file, and does not end."""
    (tmp_path / "train.fr").write_text("a b\n")
    run = tmp_path / "run"
    reader, writer = os.pipe()
    files = [f"data.train.source=/dev/fd/{reader}", f"data.train.target={tmp_path}/train.fr"]
    with command(run, "data=files", *files, pass_fds=[reader]) as process:
        _wait_until_read(writer, process)
        time.sleep(0.2)  # until it waits for more
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    os.close(reader)
    os.close(writer)
    assert process.returncode == code
    assert "Traceback" not in errors
    assert "nothing had to be saved; go on with: the same command" in errors
    assert not run.exists()


def _wait_until_read(pipe: int, process: subprocess.Popen[str]) -> None:
    """Fill a pipe until it is full; that it takes more shows that it is read."""
    os.set_blocking(pipe, False)
    is_full = False
    while process.poll() is None:
        try:
            os.write(pipe, b"a b\n" * 4096)
            if is_full:
                return
        except BlockingIOError:
            is_full = True
            time.sleep(0.05)
    raise AssertionError(process.communicate())
