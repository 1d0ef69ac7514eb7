"""What a run shows beside its numbers: traces, TensorBoard, Weights & Biases, samples of each validation."""

import json
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.disks import largest_file
from tests.tiny_runs import train_tiny
from translate.runs.reports import TensorBoard


@pytest.mark.slow
def test_a_trace_and_weights_and_biases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started: list[dict[str, Any]] = []

    def init(**options: Any) -> SimpleNamespace:
        started.append(options)
        return SimpleNamespace(finish=lambda: options.update(finished=True))

    fake = SimpleNamespace(util=SimpleNamespace(generate_id=lambda: "abc"), init=init)
    monkeypatch.setitem(sys.modules, "wandb", fake)  # type: ignore[arg-type]
    monkeypatch.setattr("translate.runs.reports.find_spec", lambda name: object())
    run_path, settings = tmp_path / "run", ("training.wandb=mine", "training.profile=true")
    assert train_tiny(run_path, "rnn_luong", *settings) == 0
    printed = capsys.readouterr().out
    assert "Self CPU" in printed
    assert f"trace of up to 5 steps: {run_path}/profile/trace.json (open it in ui.perfetto.dev)" in printed
    assert json.loads((run_path / "profile" / "trace.json").read_text())["traceEvents"]
    assert (started[0]["project"], started[0]["sync_tensorboard"], started[0]["finished"]) == (
        "mine",
        True,
        True,
    )
    assert started[0]["config"]["training"]["log_every"] == 1
    more = (*settings, "training.resume=true", "training.max_steps=12")
    assert train_tiny(run_path, "rnn_luong", *more) == 0
    assert started[1]["id"] == started[0]["id"] == "abc"
    assert "the run ended before step 6, nothing was traced" in capsys.readouterr().out


def test_a_full_disk_is_an_error_of_the_system_not_a_traceback_of_a_thread(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = threading.excepthook
    board = TensorBoard(tmp_path)

    def fill() -> None:
        try:
            for step in range(200):
                board.writer.add_scalar("train/nll", 1.0, step)
        finally:
            board.close()

    with largest_file(200), pytest.raises(OSError, match="File too large"):
        fill()
    with largest_file(10), pytest.raises(OSError, match="File too large"):
        TensorBoard(tmp_path / "other")
    assert threading.excepthook is before
    assert "Traceback" not in capfd.readouterr().err


def test_each_validation_shows_translations_and_an_alignment(tiny_runs: dict[str, Path]) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(tiny_runs["transformer"] / "tensorboard"))
    events.Reload()
    assert events.Images("validation/alignment")[0].encoded_image_string.startswith(b"\x89PNG")
    shown = events.Tensors("validation/translations/text_summary")
    assert [event.step for event in shown] == [80, 160]
    worded = []
    for event in shown:
        head, _, *rows = event.tensor_proto.string_val[0].decode().split("\n")
        assert head == "| source | reference | translation |"
        assert len(rows) == 5
        worded += [event.step] * any(
            row.split("|")[3].strip() for row in rows
        )  # else there is nothing to draw
    assert worded[-1] == 160
    assert [event.step for event in events.Images("validation/alignment")] == worded
