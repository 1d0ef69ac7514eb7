import signal
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from translate.config.training import TrainingConfig
from translate.runs import hooks
from translate.runs.checkpoint import Writer, load_state, load_weights
from translate.runs.hooks import Keeper, Signals, leave_on_sigterm
from translate.training.loop import Limits, Progress
from translate.training.schedules import Plateau, Schedules
from translate.training.weights import MovingAverage


class FakeTraining:
    """What a keeper looks at; validation takes two seconds of a clock that stands still otherwise."""

    def __init__(self, *, ema: float | None = None) -> None:
        model = nn.Linear(3, 2)
        average = MovingAverage(model, ema) if ema else None
        self.progress = Progress()
        self.update = SimpleNamespace(model=model, average=average)
        self.schedules = Schedules(torch.optim.SGD(model.parameters(), lr=1.0), Plateau(patience=1))
        self.counted = 0

    def start_clock(self) -> None:
        self.counted = 0

    def count_time(self) -> None:
        self.counted += 1

    def state_dict(self) -> dict[str, Any]:
        return {"progress": self.progress.state_dict()}


class Rig:
    """A keeper with its surroundings, and validations that give what it is told."""

    def __init__(self, directory: Path, scores: Iterable[Mapping[str, float]], **config: Any) -> None:
        self.config = TrainingConfig(**config)
        self.training: Any = FakeTraining(ema=self.config.ema)
        self.signals = Signals()
        self.directory = directory
        self.reported: list[tuple[int, dict[str, float]]] = []
        self.scores = iter(scores)
        self.keeper = Keeper(
            self.config,
            Writer(directory),
            lambda: next(self.scores),
            lambda progress, found: self.reported.append((progress.step, dict(found))),
            Limits(self.config, began=0.0),
            self.signals,
        )

    def steps(self, last: int) -> str | None:
        report: Any = None
        while self.training.progress.step < last:
            self.training.progress.step += 1
            if (reason := self.keeper(self.training, report)) is not None:
                return reason
        return None

    def saved(self, name: str) -> int:
        self.keeper.writer.wait()
        return int(load_state(self.directory / name)["progress"]["step"])


def bleu(*values: float) -> list[dict[str, float]]:
    return [{"nll": 3.0, "bleu": value} for value in values]


def test_limits() -> None:
    limits = Limits(TrainingConfig(max_steps=9, max_epochs=3), began=0.0)
    assert limits.reached(Progress(step=8, epoch=2)) is None
    assert limits.reached(Progress(step=9)) == "max_steps"
    assert limits.reached(Progress(epoch=3)) == "max_epochs"
    assert Limits(TrainingConfig(max_steps=None), began=0.0).reached(Progress(step=10**9)) is None


def test_time_counts_from_when_the_process_began(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks.time, "monotonic", lambda: 112.0)
    assert Limits(TrainingConfig(max_time=12.0), began=100.0).reached(Progress()) == "max_time"
    assert Limits(TrainingConfig(max_time=13.0), began=100.0).reached(Progress()) is None


def test_it_validates_and_saves_when_due_and_at_the_end(tmp_path: Path) -> None:
    rig = Rig(tmp_path, bleu(1, 2, 3), validate_every=4, max_steps=10)
    assert rig.steps(7) is None
    assert (rig.saved("last"), rig.saved("best")) == (4, 4)
    assert rig.steps(99) == "max_steps"
    assert [step for step, _ in rig.reported] == [4, 8, 10]
    assert (rig.saved("last"), rig.saved("best")) == (10, 10)
    assert load_state(tmp_path / "last")["progress"]["finished"] == "max_steps"


def test_the_best_is_kept_though_the_last_is_worse(tmp_path: Path) -> None:
    rig = Rig(tmp_path, bleu(1, 5, 5, 2), validate_every=1, max_steps=4)
    rig.steps(9)
    assert (rig.saved("last"), rig.saved("best")) == (4, 2)  # of equals, the first
    progress = rig.training.progress
    assert (progress.best, progress.best_step, progress.waited) == (5, 2, 2)


def test_of_equal_scores_the_likelier_is_best(tmp_path: Path) -> None:
    """Tiny runs have a BLEU of 0 for long; what patience and a plateau wait for is this improvement, too."""
    likelihoods = [(0.0, 5.0), (0.0, 4.0), (0.0, 4.5), (0.0, 4.0), (-0.1, 3.0), (0.0, 3.9)]
    scores = [{"nll": nll, "bleu": bleu} for bleu, nll in likelihoods]
    rig = Rig(tmp_path, scores, validate_every=1, max_steps=6, keep_best=3)
    rig.steps(5)
    progress = rig.training.progress
    assert (rig.saved("best"), progress.best_step, progress.waited) == (2, 2, 3)
    assert progress.best_steps == [2, 4, 3]
    rig.steps(9)
    assert (rig.saved("best"), progress.waited, progress.best_steps) == (6, 0, [6, 2, 4])


@pytest.mark.parametrize("metric", ["nll", "aer"])
def test_of_nll_and_aer_the_lowest_is_best(tmp_path: Path, metric: str) -> None:
    scores = [{"nll": 1.0, "bleu": 1.0, "aer": 1.0} | {metric: value} for value in (0.9, 0.4, 0.6)]
    rig = Rig(tmp_path, scores, validate_every=1, max_steps=3, best_metric=metric)
    rig.steps(9)
    assert rig.saved("best") == 2


def test_patience_ends_the_run(tmp_path: Path) -> None:
    rig = Rig(tmp_path, bleu(3, 1, 4, 2, 3, 9), validate_every=2, patience=2)
    assert rig.steps(99) == "patience"
    assert rig.training.progress.step == 10
    assert (rig.saved("last"), rig.saved("best")) == (10, 6)
    assert load_state(tmp_path / "last")["progress"]["finished"] == "patience"
    assert rig.training.schedules.rate.scale == 0.5**3  # its patience is 1; it heard each validation


def test_saving_more_often_than_validating(tmp_path: Path) -> None:
    rig = Rig(tmp_path, bleu(1), validate_every=7, save_every=3)
    rig.steps(6)
    assert rig.saved("last") == 6
    assert rig.reported == []
    assert not (tmp_path / "best").exists()


def test_a_run_that_is_out_of_time_is_not_finished(tmp_path: Path) -> None:
    rig = Rig(tmp_path, bleu(1), max_time=1e-9)
    assert rig.steps(99) == "max_time"
    assert load_state(tmp_path / "last")["progress"]["finished"] is None


def test_without_validation_the_last_is_the_best(tmp_path: Path) -> None:
    rig = Rig(tmp_path, [{}, {}, {}], validate_every=2, max_steps=5)
    assert rig.steps(99) == "max_steps"
    assert rig.reported == []
    assert rig.saved("last") == rig.saved("best") == rig.training.progress.best_step == 5
    assert rig.training.schedules.rate.scale == 1.0


def test_a_signal_saves_without_validating(tmp_path: Path) -> None:
    rig = Rig(tmp_path, [], validate_every=100)
    rig.steps(2)
    rig.signals.caught = "terminated"
    assert rig.steps(99) == "terminated"
    assert rig.saved("last") == 3


def test_a_signal_during_validation_ends_the_run_once_it_is_saved(tmp_path: Path) -> None:
    rig = Rig(tmp_path, [], validate_every=2)

    def validate() -> dict[str, float]:
        rig.signals.caught = "interrupted"
        return {"nll": 1.0, "bleu": 2.0}

    rig.keeper.validate = validate
    assert rig.steps(99) == "interrupted"
    assert rig.saved("last") == rig.saved("best") == 2


def test_validation_is_counted_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 100.0, 102.5, 200.0, 201.0])  # the limit does not look at it
    monkeypatch.setattr(hooks.time, "monotonic", lambda: next(clock))
    next(clock)
    rig = Rig(tmp_path, bleu(1, 2), validate_every=1)
    rig.steps(2)
    assert rig.training.progress.validation_seconds == 3.5
    assert rig.training.counted == 2


def test_the_average_is_validated_and_kept_and_the_weights_go_on(tmp_path: Path) -> None:
    rig = Rig(tmp_path, [], validate_every=1, ema=0.5)
    model, seen = rig.training.update.model, []
    with torch.no_grad():
        model.weight.add_(1.0)  # the average stays behind
    raw, average = model.weight.detach().clone(), rig.training.update.average.weights[0]

    def validate() -> dict[str, float]:
        seen.append(model.weight.detach().clone())
        return {"nll": 1.0, "bleu": 1.0}

    rig.keeper.validate = validate
    rig.steps(1)
    rig.keeper.writer.wait()
    assert torch.equal(seen[0], average)
    assert torch.equal(load_weights(tmp_path / "last")["weight"], average)
    assert torch.equal(model.weight, raw)


def test_signals_are_noted_and_handlers_put_back(capfd: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    for number, name in ((signal.SIGTERM, "terminated"), (signal.SIGINT, "interrupted")):
        with Signals() as signals:
            assert signals.caught is None
            signal.raise_signal(number)
            assert signals.caught == name
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        assert f"{name}: the run is saved after this step" in capfd.readouterr().err
        assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


def test_sigterm_where_nothing_is_to_be_saved_asks_for_another_try() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as left, leave_on_sigterm():
        signal.raise_signal(signal.SIGTERM)
    assert left.value.code == 75
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_run_in_another_thread_goes_without_signals() -> None:
    found: list[str | None] = []

    def work() -> None:
        with leave_on_sigterm(), Signals() as signals:
            found.append(signals.caught)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [None]


def test_a_run_that_was_interrupted_at_its_last_step_is_concluded(tmp_path: Path) -> None:
    """The last step is validated and saved as that of a run that was not; nothing is trained."""
    rig = Rig(tmp_path, bleu(5, 7), validate_every=2, max_steps=3)
    assert rig.keeper.conclude(rig.training) is None  # there are steps to do
    rig.steps(2)
    rig.signals.caught = "terminated"
    assert rig.steps(9) == "terminated"
    assert (rig.saved("last"), rig.saved("best")) == (3, 2)
    assert load_state(tmp_path / "last")["progress"]["finished"] is None
    rig.signals.caught = None
    assert rig.keeper.conclude(rig.training) == "max_steps"
    assert [step for step, _ in rig.reported] == [2, 3]
    assert rig.saved("best") == 3
    assert load_state(tmp_path / "last")["progress"]["finished"] == "max_steps"
