import signal
import threading
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from translate.config.training import TrainingConfig
from translate.runs.checkpoint import Writer, load_state, load_weights
from translate.runs.hooks import Keeper, Signals, handled, leave_on_signals
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
        return {"progress": asdict(self.progress)}


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


def test_it_validates_and_saves_when_due_and_at_the_end(tmp_path: Path) -> None:
    rig = Rig(tmp_path, bleu(1, 2, 3), validate_every=4, max_steps=10)
    assert rig.steps(7) is None
    assert (rig.saved("last"), rig.saved("best")) == (4, 4)
    assert rig.steps(99) == "max_steps"
    assert [step for step, _ in rig.reported] == [4, 8, 10]
    assert (rig.saved("last"), rig.saved("best")) == (10, 10)
    assert load_state(tmp_path / "last")["progress"]["finished"] == "max_steps"


def test_of_equal_scores_the_likelier_is_best(tmp_path: Path) -> None:
    """Runs have a BLEU of chance for long; what patience and a plateau wait for is this improvement, too."""
    likelihoods = [(0.4, 5.0), (0.0, 4.0), (0.9, 4.5), (0.2, 4.0), (0.0, 4.6), (0.0, 3.9)]
    scores = [{"nll": nll, "bleu": bleu} for bleu, nll in likelihoods]
    rig = Rig(tmp_path, scores, validate_every=1, max_steps=6, keep_best=3)
    rig.steps(5)
    progress = rig.training.progress
    assert (rig.saved("best"), progress.best_step, progress.waited) == (2, 2, 3)
    assert [step for *_, step in progress.best] == [2, 4, 3]
    rig.steps(9)
    assert (rig.saved("best"), progress.waited) == (6, 0)
    assert [step for *_, step in progress.best] == [6, 2, 4]


@pytest.mark.parametrize(
    ("validations", "best"),
    [
        ([(16.9, 2.548), (20.0, 2.350), (17.0, 2.296), (19.8, 2.194)], 4),  # 25.1, not 23.1, of all pairs
        ([(21.4, 2.181), (19.7, 2.146), (19.1, 2.304)], 1),
        ([(26.9, 1.419), (28.4, 1.442)], 2),  # it says fewer things more surely
    ],
)
def test_beside_bleu_the_likelihood_counts(
    tmp_path: Path, validations: list[tuple[float, float]], best: int
) -> None:
    scores = [{"nll": nll, "bleu": bleu} for bleu, nll in validations]
    rig = Rig(tmp_path, scores, validate_every=1, max_steps=len(scores))
    rig.steps(9)
    assert (rig.saved("best"), rig.training.progress.best[0][0]) == (best, validations[best - 1][0])


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


def test_a_signal_during_validation_ends_the_run_once_it_is_saved(tmp_path: Path) -> None:
    rig = Rig(tmp_path, [], validate_every=2)

    def validate() -> dict[str, float]:
        rig.signals.caught = "interrupted"
        return {"nll": 1.0, "bleu": 2.0}

    rig.keeper.validate = validate
    assert rig.steps(99) == "interrupted"
    assert rig.saved("last") == rig.saved("best") == 2


def test_a_validation_that_a_signal_left_out_is_made_up_for_once(tmp_path: Path) -> None:
    rig = Rig(tmp_path, bleu(2), validate_every=2)
    rig.signals.caught = "interrupted"
    rig.steps(1)
    assert (rig.keeper.conclude(rig.training), rig.reported) == (None, [])  # none was due
    rig.steps(2)
    assert (rig.saved("last"), rig.reported) == (2, [])
    rig.signals.caught = None
    assert rig.keeper.conclude(rig.training) is None
    assert [step for step, _ in rig.reported] == [2]
    assert rig.saved("best") == 2
    rig.training.progress = Progress(**load_state(tmp_path / "last")["progress"])
    assert rig.keeper.conclude(rig.training) is None
    assert len(rig.reported) == 1


def test_where_the_time_of_one_process_is_up_the_next_goes_on_as_if_nothing_had_been(tmp_path: Path) -> None:
    """What it validates then changes neither patience nor schedule, nor what is best later."""
    rig = Rig(tmp_path, bleu(3, 2, 9), validate_every=2, max_steps=100, max_time=1.0, keep_best=2)
    rig.keeper.limits = Limits(rig.config, began=float("inf"))
    rig.steps(4)
    rig.keeper.limits = Limits(rig.config, began=0.0)
    assert rig.steps(5) == "max_time"
    assert (rig.saved("last"), rig.saved("best"), rig.training.progress.best_step) == (5, 5, 5)
    stored = load_state(tmp_path / "last")["progress"]
    assert [step for *_, step in stored["best"]] == [2, 4]
    assert (stored["best_step"], stored["waited"], stored["validated"], stored["finished"]) == (2, 1, 4, None)
    assert rig.training.schedules.rate.scale == 0.5  # for the second validation alone


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
        signals = Signals()
        with handled(signals.catch):
            assert signals.caught is None
            signal.raise_signal(number)
            assert signals.caught == name
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        assert f"{name}: the run is saved after this step" in capfd.readouterr().err
        assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 75), (signal.SIGINT, 130)])
def test_where_nothing_is_to_be_saved_a_signal_says_how_to_go_on(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], number: signal.Signals, code: int
) -> None:
    def signalled(begins: bool, goes_on: str) -> None:
        with leave_on_signals(tmp_path, goes_on):
            if begins:
                (tmp_path / "config.yaml").touch()
            signal.raise_signal(number)

    before, run = signal.getsignal(number), f"translate resume {tmp_path}"
    for begins, goes_on, how in ((False, "", "the same command"), (True, "", run), (True, "so", "so")):
        with pytest.raises(SystemExit) as left:
            signalled(begins, goes_on)
        assert (left.value.code, signal.getsignal(number)) == (code, before)
        assert capfd.readouterr().err.endswith(f": nothing had to be saved; go on with: {how}\n")


def test_a_second_ctrl_c_says_how_to_go_on(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    step = tmp_path / "checkpoints" / "step-1"

    def signalled() -> None:
        with leave_on_signals(tmp_path), handled(Signals().catch):
            (tmp_path / "config.yaml").touch()
            step.mkdir(parents=True)
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(SystemExit, match="130"):
        signalled()
    last = f"interrupted: the last checkpoint is {step}; go on with: translate resume {tmp_path}"
    assert capfd.readouterr().err.splitlines()[-1] == last


def test_a_run_in_another_thread_goes_without_signals() -> None:
    found: list[str | None] = []

    def work() -> None:
        signals = Signals()
        with leave_on_signals(Path()), handled(signals.catch):
            found.append(signals.caught)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [None]
