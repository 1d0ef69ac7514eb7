import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from translate.config.training import TrainingConfig
from translate.runs.reports import progress_line as progress_module
from translate.runs.reports.progress_line import (
    ProgressLine,
    TimeLeft,
    bar,
    clock,
    fitting,
    peak_memory,
    score_line,
)
from translate.training.progress import Progress, StepReport, Window


def report(step: int, loss: float = 60.0, tokens: int = 20) -> StepReport:
    sums = torch.tensor(loss), torch.tensor(loss / 2)
    return StepReport(step, *sums, tokens, 3 * tokens, 5 * tokens, torch.tensor(1.0), 2e-3)


def test_means_are_over_the_tokens_of_the_window() -> None:
    window = Window(began=60.0)
    window.add(report(1, loss=60.0, tokens=20))
    window.add(report(2, loss=30.0, tokens=10))
    means = window.means(63.0)
    assert means == pytest.approx({"loss": 3.0, "nll": 1.5, "tokens_per_second": 10.0, "padding": 0.2})
    window.restart(63.0)
    window.add(report(3, loss=7.0, tokens=7))
    assert window.means(65.0)["loss"] == pytest.approx(1.0)
    assert window.means(65.0)["tokens_per_second"] == pytest.approx(3.5)


def test_a_window_without_a_step_that_was_taken_has_means() -> None:
    window = Window()
    window.add(report(1, loss=0.0, tokens=0))
    assert window.means(2.0)["loss"] == 0.0


@pytest.mark.parametrize(
    ("limits", "left"),
    [
        ({"max_steps": 60}, 90.0),  # 10 steps in 30 s, 30 to go
        ({"max_epochs": 3}, 45.0),  # 1 epoch in 30 s, 1.5 to go
        ({"max_time": 50.0}, 10.0),  # the process began 40 s ago
        ({"max_steps": 60, "max_epochs": 3}, 45.0),
        ({"max_steps": 60, "max_epochs": 3, "max_time": 50.0}, 10.0),
        ({"max_time": 39.0}, 0.0),
        ({}, None),
    ],
)
def test_time_left_is_by_the_limit_that_ends_the_run_first(
    limits: dict[str, Any], left: float | None
) -> None:
    time_left = TimeLeft(
        TrainingConfig(**({"max_steps": None} | limits)),
        began=990.0,
        started=1000.0,
        start_step=20,
        start_epoch=0.5,
    )
    assert time_left.seconds(30, 1.5, now=1030.0) == (None if left is None else pytest.approx(left))


def test_before_the_first_step_nobody_knows() -> None:
    time_left = TimeLeft(TrainingConfig(max_steps=9), began=0.0, started=0.0, start_step=3, start_epoch=0.0)
    assert time_left.seconds(3, 0.0, now=1.0) is None


def line(config: TrainingConfig) -> tuple[ProgressLine, Any]:
    training: Any = SimpleNamespace(
        progress=Progress(),
        window=Window(),
        stream=SimpleNamespace(epoch_length=lambda: 8),
        update=SimpleNamespace(device=torch.device("cpu")),
    )
    return ProgressLine(config, training, began=0.0), training


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
        r"epoch 0\.62  step 5  nll 1\.500  loss 3\.000  40 tokens/s  \d+:\d\d left  "
        r"padding 20\.0 %  lr 2\.00e-03  1\.50 GiB"
    )
    assert re.fullmatch(pattern, lines[0])
    assert lines[1] == "validation at step 7: [bleu] 3"
    assert lines[2].startswith("epoch 1.25  step 10  ")


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


PARTS = {
    "epoch": "epoch 12.34",
    "step": "step 12345",
    "nll": "nll 1.500",
    "loss": "loss 3.000",
    "speed": "12,345 tokens/s",
    "left": "1:04:05 left",
    "padding": "padding 12.3 %",
    "rate": "lr 2.00e-03",
    "memory": "1.50 GiB",
}


def test_80_columns_show_speed_memory_and_time_left() -> None:
    wide, narrow, tiny = (fitting(PARTS, width) for width in (200, 79, 30))
    assert wide == "  ".join(PARTS.values())
    assert narrow == "epoch 12.34  step 12345  nll 1.500  12,345 tokens/s  1:04:05 left  1.50 GiB"
    assert len(narrow) <= 79
    assert tiny == "step 12345  nll 1.500  12,345 tokens/s"  # cut at the width, speed last
    assert fitting(PARTS | {"left": "", "memory": ""}, 60).endswith("12,345 tokens/s")


@pytest.mark.parametrize(("share", "done"), [(0.0, 0), (0.25, 10), (1.0, 40)])
def test_the_bar_grows_with_the_share_that_is_done(share: float, done: int) -> None:
    text = bar("step 7", share, 41)
    assert len(text.plain) == 40
    assert sum(span.end - span.start for span in text.spans if span.style == "reverse") == done
    assert len(bar("x" * 99, share, 41).plain) == 40


def test_scores_as_a_line() -> None:
    found = score_line(7, {"nll": 1.25, "bleu": 33.333333, "aer": 0.0512})
    assert found == "validation at step 7: nll 1.250  bleu 33.333  aer 5.12 %"


def test_clock() -> None:
    assert [clock(seconds) for seconds in (0, 59.9, 61, 3661)] == ["0:00", "0:59", "1:01", "1:01:01"]


@pytest.mark.skipif(sys.platform != "linux", reason="the oracle is Linux' own count")
def test_memory_is_the_peak_of_the_process() -> None:
    status = Path("/proc/self/status").read_text()
    kilobytes = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert kilobytes is not None
    assert peak_memory(torch.device("cpu")) == pytest.approx(1024 * int(kilobytes[1]), rel=0.02)
