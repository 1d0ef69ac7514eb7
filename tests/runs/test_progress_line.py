import re
import shlex
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from translate.config.training import TrainingConfig
from translate.runs import terminal_lines as progress_module
from translate.runs.life import short_time_lines
from translate.runs.run_directory import RunDirectory
from translate.runs.terminal_lines import ProgressLine, closing_lines, peak_memory
from translate.training.loop import Limits, Progress, Window
from translate.training.update import StepReport


def report(step: int, loss: float = 60.0, tokens: int = 20) -> StepReport:
    sums = torch.tensor(loss), torch.tensor(loss / 2)
    return StepReport(step, *sums, tokens, torch.tensor(1.0), 2e-3)


def test_means_are_over_the_tokens_of_the_window() -> None:
    window = Window(began=60.0)
    window.add(report(1, loss=60.0, tokens=20))
    window.add(report(2, loss=30.0, tokens=10))
    means = window.means(63.0)
    assert means == pytest.approx({"loss": 3.0, "nll": 1.5, "tokens_per_second": 10.0})


STREAM = SimpleNamespace(epoch_length=8, epochs=lambda at: at.epoch + at.batch / 8)


def line(config: TrainingConfig, progress: Progress | None = None) -> tuple[ProgressLine, Any]:
    training: Any = SimpleNamespace(
        progress=progress or Progress(),
        window=Window(),
        stream=STREAM,
        update=SimpleNamespace(device=torch.device("cpu")),
    )
    return ProgressLine(config, training, Limits(config, began=990.0)), training


@pytest.mark.parametrize(
    ("limits", "left"),
    [
        ({"max_steps": 60}, 90.0),  # 10 steps in 30 s, 30 to go
        ({"max_epochs": 3}, 45.0),  # 1 epoch in 30 s, 1.5 to go
        ({"max_time": 50.0}, 10.0),  # the process began 40 s ago
        ({"max_steps": 60, "max_epochs": 3, "max_time": 50.0}, 10.0),
        ({"max_time": 39.0}, 0.0),
        ({}, None),
    ],
)
def test_time_left_is_by_the_limit_that_ends_the_run_first(
    limits: dict[str, Any], left: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: 1000.0)
    shown, _ = line(TrainingConfig(**({"max_steps": None} | limits)), Progress(20, batch=4))
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: 1030.0)
    assert shown.seconds_left(30, 1.5) == (None if left is None else pytest.approx(left))


def test_plain_lines_in_a_file(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_module, "peak_memory", lambda device: 3 * 2**29)
    shown, training = line(TrainingConfig(max_steps=100, log_every=5))
    for step in range(1, 11):
        training.progress.step = training.progress.batch = step
        training.progress.seconds += 0.5
        shown(training, report(step))
        if step == 7:
            shown.note("validation at step 7: [bleu] 3")
    shown.close()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    pattern = (
        r"step 5  nll 1\.500  40 tokens/s  \d+:\d\d left  1\.50 GiB memory  epoch 0\.62  loss 3\.000  "
        r"lr 2\.00e-03"
    )
    assert re.fullmatch(pattern, lines[0])
    assert lines[1] == "validation at step 7: [bleu] 3"
    assert lines[2].startswith("step 10  ")


def test_slow_steps_show_that_they_go_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown, training = line(TrainingConfig(max_steps=100, log_every=50))
    clock = iter(range(0, 10_000, 25))
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: shown.started + next(clock) / 2)
    for step in range(1, 21):  # 12.5 seconds or more each
        training.progress.step = training.progress.batch = step
        shown(training, report(step))
    told = re.findall(r"^step (\d+)  ", capsys.readouterr().out, re.MULTILINE)
    assert told[0] == "2"  # the first is at 0 seconds
    assert len(told) in range(3, 8)


def test_one_line_on_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "72")
    monkeypatch.setenv("TERM", "xterm")
    shown, training = line(TrainingConfig(max_steps=100, log_every=1))
    for step in range(1, 31):
        training.progress.step = training.progress.batch = step
        training.progress.seconds += 0.5
        shown(training, report(step))
    shown.note("validation at step 30: [bleu] 3")
    shown.close()
    output = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", capsys.readouterr().out)
    assert [int(each) for each in re.findall(r"step (\d+)  ", output)][:3] == [10, 20, 30]
    assert "nll 1.500  40 tokens/s" in output
    assert "left" in output
    assert "validation at step 30: [bleu] 3" in output
    assert max(len(each) for each in re.split(r"[\r\n]", output)) < 72  # else the terminal would break it


@pytest.mark.skipif(sys.platform != "linux", reason="the oracle is Linux' own count")
def test_memory_is_the_peak_of_the_process() -> None:
    status = Path("/proc/self/status").read_text()
    kilobytes = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert kilobytes is not None
    assert peak_memory(torch.device("cpu")) == pytest.approx(1024 * int(kilobytes[1]), rel=0.02)


@pytest.mark.parametrize(
    ("epoch", "batch", "pairs", "expected"),
    [
        (0, 2, 50_000, "enough for 25 % of the pairs, 9 steps; for 5 epochs, which are better: {} 21"),
        (1, 2, 50_000, "enough for 1.2 epochs, 9 steps; for 5 epochs, which are better: {} 5"),
        (4, 0, 5000, "enough for 4.0 epochs, 9 steps; for 20 epochs, which are better: {} 6"),
        (0, 4, 400_000, "enough for 50 % of the pairs, 9 steps; for a whole epoch: {} 3"),
        (1, 0, 400_000, None),
        (3, 0, 50_000, None),
        (12, 0, 5000, None),
    ],
)
def test_a_run_that_has_read_little_is_told_what_to_do(
    epoch: int, batch: int, pairs: int, expected: str | None
) -> None:
    progress = Progress(step=9, epoch=epoch, batch=batch, seconds=60, elapsed=70)
    training: Any = SimpleNamespace(progress=progress, stream=STREAM)
    settings = SimpleNamespace(training=SimpleNamespace(start_from=None))
    command, limits = RunDirectory(Path("runs/x")).resume_command(), SimpleNamespace(by_time=True)
    job: Any = SimpleNamespace(resume_command=command, settings=settings, limits=limits)
    found = short_time_lines(training, job, pairs, 10.2)
    if expected is not None:
        command = "translate resume runs/x training.max_time="
        seconds = 60 * int(expected.rpartition(" ")[2])
        expected = expected.rpartition(" ")[0].replace("{}", f"{command}{seconds}")
    assert found == ([] if expected is None else [f"note: after 0:10 of preparation the time was {expected}"])
    resumed = short_time_lines(training, job, pairs, 0.0)
    assert resumed == ([] if expected is None else [f"note: the time was {expected}"])
    settings.training.start_from = "runs/general"
    assert short_time_lines(training, job, pairs, 0.0) == []  # it knows most already


def test_the_closing_lines_add_up(tmp_path: Path) -> None:
    settings: Any = SimpleNamespace(
        data=SimpleNamespace(read="text"),
        training=TrainingConfig(),
        run=SimpleNamespace(plugins=[]),
    )
    directory: Any = SimpleNamespace(path=Path("runs/x"))
    progress = Progress(
        step=19, epoch=1, seconds=153, validation_seconds=122, best=[(0.0, -5.74, 19)], best_step=19
    )
    shown = "\n".join(closing_lines(settings, progress, {"tokens_per_second": 3.0}, "", directory, "I'm it."))
    assert "19, 1 whole epoch\n" in shown
    assert "0:31 in steps and 2:02 in validation, beside the preparation" in shown
    assert "bleu below 1, nll 5.740 at step 19" in shown
    assert shlex.split(shown.splitlines()[-1])[2:] == ["translate", "text", "runs/x", "I'm it."]
