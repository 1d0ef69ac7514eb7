"""The training loop: for each group of batches a step, then hooks."""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from typing import Any

import torch

from translate.training.generators import generator_states, restore_generators, seed_process
from translate.training.stream import BatchStream, Position
from translate.training.update import StepReport, Update
from translate.training.window import Window


@dataclass
class Progress:
    """The counters of a run; a checkpoint holds them."""

    step: int = 0  # optimizer steps
    epoch: int = 0
    batch: int = 0  # batches of this epoch that are done
    tokens: int = 0  # target tokens, padding not counted
    source_tokens: int = 0
    places: int = 0  # of both sides, padding included
    seconds: float = 0.0  # of training and validation, all processes of the run together
    validation_seconds: float = 0.0  # of these, spent in validation
    best: float | None = None  # of training.best_metric; larger is better
    best_step: int = 0
    best_steps: list[int] = field(default_factory=list)  # of the training.keep_best best ones, best first
    best_values: list[float] = field(default_factory=list)  # theirs
    best_likelihoods: list[float] = field(default_factory=list)  # theirs, nats a token; larger is better
    waited: int = 0  # validations since the best one
    finished: str | None = None  # why the run ended, if it did

    def __post_init__(self) -> None:
        # A checkpoint of an older version does not tell; nothing that is its equal shall replace it.
        self.best_likelihoods += [math.inf] * (len(self.best_values) - len(self.best_likelihoods))

    @property
    def training_seconds(self) -> float:
        return self.seconds - self.validation_seconds

    def beats_best(self, value: float, likelihood: float) -> bool:
        """Whether a validation is better than the best so far; of equal values the likelier is."""
        return not self.best_values or (value, likelihood) > (self.best_values[0], self.best_likelihoods[0])

    def rank(self, value: float, likelihood: float, *, keep: int) -> bool:
        """Count the validation of this step among the ``keep`` best; returns whether it is the best."""
        improved = self.beats_best(value, likelihood)
        if improved:
            self.best, self.best_step = value, self.step
        ranked = [*zip(self.best_values, self.best_likelihoods, self.best_steps, strict=True)]
        ranked = [each for each in ranked if each[2] != self.step]  # validated before it was interrupted
        ranked.append((value, likelihood, self.step))
        ranked.sort(key=lambda each: each[:2], reverse=True)  # stable: of equals the earlier one is better
        kept = ranked[:keep]
        self.best_values, self.best_likelihoods = [each[0] for each in kept], [each[1] for each in kept]
        self.best_steps = [each[2] for each in kept]
        return improved

    def state_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class Training:
    """What a run is made of while it trains."""

    stream: BatchStream
    update: Update
    progress: Progress = field(default_factory=Progress)
    window: Window = field(default_factory=Window)  # of the steps since the metrics were last logged
    identity: dict[str, str] = field(default_factory=dict)  # of what it learns from; see build/identity.py
    began: float = 0.0  # when the run would have begun, had it been one process without a pause

    def start_clock(self) -> None:
        """Go on counting seconds where the run stands."""
        self.began = time.monotonic() - self.progress.seconds

    def count_time(self) -> None:
        """Bring ``progress.seconds`` up to now."""
        self.progress.seconds = time.monotonic() - self.began

    def state_dict(self) -> dict[str, Any]:
        """All that the steps to come depend on; all processes of the run must ask for it."""
        own = generator_states(self.update.device)
        return {
            "progress": self.progress.state_dict(),
            "generators": self.update.parallel.world.gather(own),  # of each process
            "threads": torch.get_num_threads(),
            "group_size": self.stream.group_size,
            "window": self.window.state_dict(),
            "identity": self.identity,
            **self.update.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.progress = Progress(**state["progress"])
        self.update.load_state_dict(state)
        if "window" in state:
            self.window = Window(**state["window"])
        world = self.update.parallel.world
        if len(state["generators"]) == world.size:
            restore_generators(state["generators"][world.rank], self.update.device)
        else:
            seed_process(self.stream.seed, world.rank, self.progress.step)


# A hook looks at the run after each step, and may give the reason to end it.
Hook = Callable[[Training, StepReport], str | None]


def fit(training: Training, hooks: Sequence[Hook]) -> str:
    """Train until a hook gives a reason to stop, and return it; all hooks see every step."""
    progress = training.progress
    training.start_clock()
    with closing(training.stream.from_position(Position(progress.epoch, progress.batch))) as groups:
        for group in groups:
            training.update.schedule.enter(progress.epoch)
            report = training.update(
                group.batches, progress.step + 1, num_tokens=group.num_tokens, spare=group.spare
            )
            progress.step = report.step
            progress.epoch, progress.batch = group.after
            progress.tokens += report.num_tokens
            progress.source_tokens += report.num_source_tokens
            progress.places += report.padded_tokens
            training.count_time()
            reasons = [hook(training, report) for hook in hooks]
            if reason := next(filter(None, reasons), None):
                return reason
    raise AssertionError("the stream of batches is endless")
