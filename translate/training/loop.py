"""The training loop: a step for a group of batches, then the hooks; counters and random numbers of a run."""

import math
import random
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from translate.config.training import TrainingConfig
from translate.errors import UserError
from translate.training.recovery import Recovery
from translate.training.schedules import Schedules
from translate.training.stream import BatchStream, Position
from translate.training.update import StepReport, Update

MAX_TIME = "max_time"


@dataclass
class Progress:
    """The counters of a run; a checkpoint stores them."""

    step: int = 0  # optimizer steps
    epoch: int = 0
    batch: int = 0  # batches of this block that are done
    block: int = 0  # of this epoch
    tokens: int = 0  # target tokens, padding excluded
    seconds: float = 0.0  # of training and validation, over all processes that worked on the run in turn
    validation_seconds: float = 0.0  # the part of them spent in validation
    elapsed: float = 0.0  # seconds from the start of these processes, reading the corpus included
    validated: int = 0  # the last step of which a validation was due, and is done
    best_step: int = 0
    # Of the training.keep_best best validations, best first: the value of training.best_metric and the
    # log-likelihood in nats a token, of both of which a larger one is better, and the step.
    best: list[tuple[float, float, int]] = field(default_factory=list)
    waited: int = 0  # validations since the best one
    finished: str | None = None  # why the run ended, if it did

    @property
    def training_seconds(self) -> float:
        return self.seconds - self.validation_seconds

    @property
    def position(self) -> Position:
        return Position(self.epoch, self.batch, self.block)

    def add(self, report: StepReport) -> None:
        """Count the step of a report."""
        self.step = report.step
        self.tokens += report.num_tokens

    def rank(self, value: float, likelihood: float, *, keep: int, nat: float = 0.0) -> bool:
        """Rank this step among the ``keep`` best; returns whether it is the best; of equals the likelier.

        Args:
            value: larger is better.
            likelihood: the log-likelihood of a piece, in nats.
            keep: how many are kept.
            nat: how much of ``value`` a nat is worth.
        """

        def goodness(entry: tuple[float, float, int]) -> tuple[float, float]:
            return entry[0] + nat * entry[1], entry[1]

        improved = not self.best or goodness((value, likelihood, self.step)) > goodness(self.best[0])
        if improved:
            self.best_step = self.step
        ranked = [entry for entry in self.best if entry[2] != self.step]  # validated before an interruption
        ranked.append((value, likelihood, self.step))
        ranked.sort(key=goodness, reverse=True)  # stable: of equals the earlier one is better
        self.best = ranked[:keep]
        return improved


@dataclass
class Limits:
    """Ends a run after a number of steps, of epochs, or of seconds.

    Without a number of steps or epochs the time is the length of the run: the seconds of all processes that
    work on it in turn count together. Else it is that of this process, whose successor goes on.

    Attributes:
        config: of the training.
        began: when this process began.
    """

    config: TrainingConfig
    began: float

    @property
    def by_time(self) -> bool:
        """Whether the time is the length of the run."""
        config = self.config
        return config.max_time is not None and config.max_steps is None and config.max_epochs is None

    def resume(self, progress: Progress) -> None:
        """Count the seconds of earlier processes, if time is the length of the run.

        Raises:
            UserError: if that is less than an unfinished run has had.
        """
        if self.by_time:
            if progress.finished is None and progress.elapsed > (limit := self.config.max_time or 0.0):
                raise UserError(
                    f"training.max_time={limit:g}: the whole time of the run, not what is added to it; it "
                    f"has had {progress.elapsed:.0f} seconds: give more, or leave it out"
                )
            self.began -= progress.elapsed

    def elapsed(self) -> float:
        """Seconds that count towards the limit, and no more than that."""
        limit = self.config.max_time
        return min(time.monotonic() - self.began, math.inf if limit is None else limit)

    def spent(self, step: int, epochs: float) -> float:
        """The share of the run, from 0 to 1, that is behind it in ``step``, after ``epochs``."""
        parts = self.parts(step, epochs)
        return min(1.0, max((part for name, part in parts.items() if self.end(name)), default=0.0))

    def reached(self, progress: Progress) -> str | None:
        """The limit that the run has reached."""
        parts = self.parts(progress.step, progress.epoch)
        return next((name for name, part in parts.items() if part >= 1), None)

    def parts(self, step: int, epochs: float) -> dict[str, float]:
        """The share of each of its limits that the run has had; 1 is all."""
        had = {"max_steps": step, "max_epochs": epochs, MAX_TIME: self.elapsed()}
        limits = {name: getattr(self.config, name) for name in had}
        return {name: had[name] / limit for name, limit in limits.items() if limit is not None}

    def end(self, reason: str | None) -> str | None:
        """The reason if it ends the run itself, not this process alone."""
        return reason if reason != MAX_TIME or self.by_time else None


@dataclass
class Window:
    """Sums over the steps since the last line of the metrics.

    A checkpoint stores them, so a resumed run logs the same values.

    Attributes:
        began: seconds of training before the window, validation excluded.
        loss: label-smoothed, summed; stays on the device until it is read.
        likelihood: negative log-likelihood, summed.
        tokens: of the target.
    """

    began: float = 0.0
    loss: Tensor | float = 0.0
    likelihood: Tensor | float = 0.0
    tokens: int = 0

    def add(self, report: StepReport) -> None:
        """Count the step of a report."""
        device = report.loss.device  # sums from a checkpoint are on the CPU
        self.loss = _on(self.loss, device) + report.loss
        self.likelihood = _on(self.likelihood, device) + report.likelihood
        self.tokens += report.num_tokens

    def means(self, training_seconds: float) -> dict[str, float]:
        """Loss (label-smoothed) and likelihood in nats a target token, and speed."""
        tokens = max(1, self.tokens)  # none if all steps were skipped
        return {
            "loss": float(self.loss) / tokens,
            "nll": float(self.likelihood) / tokens,
            "tokens_per_second": self.tokens / max(1e-9, training_seconds - self.began),
        }


def _on(value: Tensor | float, device: torch.device) -> Tensor | float:
    return value.to(device) if isinstance(value, Tensor) else value


@dataclass
class Training:
    """The parts of a run that training changes."""

    stream: BatchStream
    schedules: Schedules
    take_step: Recovery
    progress: Progress = field(default_factory=Progress)
    window: Window = field(default_factory=Window)
    identity: dict[str, str] = field(default_factory=dict)  # of texts and tokenizers
    began: float = 0.0  # on a clock that stands still between processes

    @property
    def update(self) -> Update:
        return self.take_step.update

    def start_clock(self) -> None:
        """Go on counting seconds from ``progress.seconds``."""
        self.began = time.monotonic() - self.progress.seconds

    def count_time(self) -> None:
        """Bring ``progress.seconds`` up to now."""
        self.progress.seconds = time.monotonic() - self.began

    def state_dict(self) -> dict[str, Any]:
        """Everything that later steps depend on; all processes of the run must call this."""
        own = generator_states(self.update.device)
        return {
            "progress": asdict(self.progress),
            "generators": self.update.parallel.world.gather(own),  # of every process
            "threads": torch.get_num_threads(),
            "group_size": self.stream.group_size,
            "window": dict(vars(self.window)),
            "identity": self.identity,
            "schedule": self.schedules.rate.state_dict(),
            **self.update.state_dict(),
            **self.take_step.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.progress = Progress(**state["progress"])
        self.update.load_state_dict(state)
        self.take_step.load_state_dict(state)
        self.schedules.rate.load_state_dict(state["schedule"])
        self.window = Window(**state["window"])
        world = self.update.parallel.world
        if len(state["generators"]) == world.size:
            restore_generators(state["generators"][world.rank], self.update.device)
        else:
            seed_process(self.stream.config.seed, world.rank, self.progress.step)


# A hook looks at the run after each step, and may return the reason to end it.
Hook = Callable[[Training, StepReport], str | None]


def fit(training: Training, hooks: Sequence[Hook]) -> str:
    """Train until a hook returns a reason to stop, and return that; all hooks see every step."""
    progress = training.progress
    training.start_clock()
    with closing(training.stream.from_position(progress.position, progress.step)) as groups:
        for group in groups:
            step = progress.step + 1
            training.schedules.begin_step(step, progress.position)
            report = training.take_step(group.batches, step, num_tokens=group.num_tokens, spare=group.spare)
            progress.add(report)
            progress.epoch, progress.batch, progress.block = group.after
            training.count_time()
            reasons = [hook(training, report) for hook in hooks]
            if reason := next(filter(None, reasons), None):
                return reason
    raise AssertionError("the stream of batches is endless")


def seed_generators(seed: int) -> None:
    """Seed the generators of torch, and those of Python and NumPy, which a plugin may use."""
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed % 2**32)


def seed_process(seed: int, rank: int, step: int) -> None:
    """Seed one process of several, where no stored state of its generators can be restored."""
    seed_generators(int(np.random.SeedSequence([seed, rank, step]).generate_state(1)[0]))


def generator_states(device: torch.device) -> dict[str, Any]:
    """The states of the generators of torch, Python and NumPy, as plain values."""
    numpy = np.random.get_state(legacy=False)
    assert isinstance(numpy, dict)
    words = torch.from_numpy(numpy["state"]["key"].astype(np.int64))
    states = {
        "cpu": torch.get_rng_state(),
        "python": random.getstate(),
        "numpy": (words, numpy["state"]["pos"], numpy["has_gauss"], numpy["gauss"]),
    }
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    return states


def restore_generators(states: dict[str, Any], device: torch.device) -> None:
    """Restore the states that :func:`generator_states` returned."""
    torch.set_rng_state(states["cpu"])
    if "cuda" in states and device.type == "cuda":
        torch.cuda.set_rng_state(states["cuda"], device)
    version, words, gauss = states["python"]
    random.setstate((version, tuple(words), gauss))
    words, position, has_gauss, gauss = states["numpy"]
    np.random.set_state(("MT19937", words.numpy().astype(np.uint32), position, has_gauss, gauss))
