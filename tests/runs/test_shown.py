"""What a run shows beside its numbers: traces, Weights & Biases, samples of each validation."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.tiny_runs import rows, train_tiny


@pytest.mark.slow
def test_a_trace_is_written_and_the_dearest_operations_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    assert train_tiny(run, "rnn_luong", "training.profile=true", "training.max_steps=11") == 0
    lines = capsys.readouterr().out.splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith("operation "))
    shares = [float(line.split()[-2]) for line in lines[place + 1 : place + 11]]
    assert shares == sorted(shares, reverse=True)
    assert lines[place + 11] == f"trace of 5 steps: {run}/profile/trace.json (open it in ui.perfetto.dev)"
    assert json.loads((run / "profile" / "trace.json").read_text())["traceEvents"]


class FakeWandb:
    """What of Weights & Biases is used, writing down what it is told."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.begun: list[dict[str, Any]] = []
        self.util = SimpleNamespace(generate_id=lambda: "abc")
        self.Html = self.Image = lambda given: given

    def init(self, **options: Any) -> Any:
        self.begun.append(options)
        return SimpleNamespace(log=self.rows.append, finish=lambda: None, define_metric=lambda *a, **k: None)


@pytest.mark.slow
def test_weights_and_biases_are_told_what_tensorboard_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, fake = tmp_path / "run", FakeWandb()
    monkeypatch.setitem(sys.modules, "wandb", fake)  # type: ignore[arg-type]
    monkeypatch.setattr("translate.runs.reports.boards.find_spec", lambda name: object())
    settings = ("training.wandb=mine", "training.log_every=5", "run.name=named")
    assert train_tiny(run, "rnn_luong", *settings) == 0
    assert fake.begun[0]["project"] == "mine"
    assert fake.begun[0]["name"] == "named"
    assert fake.begun[0]["config"]["training"]["log_every"] == 5
    logged = {row["step"]: row["train/loss"] for row in fake.rows if "train/loss" in row}
    assert logged == {row["step"]: row["loss"] for row in rows(run)}
    assert any("validation/translations" in row for row in fake.rows)
    more = (*settings, "training.resume=true", "training.max_steps=12")
    assert train_tiny(run, "rnn_luong", *more) == 0
    assert fake.begun[1]["id"] == fake.begun[0]["id"] == "abc"


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
