"""The training loop: for each group of batches a step, then hooks."""

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from typing import Any

import torch

from translate.training.stream import BatchStream, Position
from translate.training.update import StepReport, Update


@dataclass
class Progress:
    """The counters of a run; a checkpoint holds them."""

    step: int = 0  # optimizer steps
    epoch: int = 0
    batch: int = 0  # batches of this epoch that are done
    tokens: int = 0  # target tokens, padding not counted
    seconds: float = 0.0  # of training and validation, all processes of the run together
    best: float | None = None  # of training.best_metric
    best_step: int = 0
    waited: int = 0  # validations since the best one
    finished: str | None = None  # why the run ended, if it did

    def state_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class Training:
    """What a run is made of while it trains."""

    stream: BatchStream
    update: Update
    progress: Progress = field(default_factory=Progress)

    def state_dict(self) -> dict[str, Any]:
        """All that the steps to come depend on."""
        generators = {"cpu": torch.get_rng_state()}
        if torch.cuda.is_initialized():
            generators["cuda"] = torch.cuda.get_rng_state()
        return {
            "progress": self.progress.state_dict(),
            "generators": generators,
            "threads": torch.get_num_threads(),
            **self.update.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.progress = Progress(**state["progress"])
        self.update.load_state_dict(state)
        torch.set_rng_state(state["generators"]["cpu"])
        if "cuda" in state["generators"] and torch.cuda.is_available():
            torch.cuda.set_rng_state(state["generators"]["cuda"])


# A hook looks at the run after each step, and may give the reason to end it.
Hook = Callable[[Training, StepReport], str | None]


def fit(training: Training, hooks: Sequence[Hook]) -> str:
    """Train until a hook gives a reason to stop, and return it.

    All hooks see every step, so that one that stops does not keep a later one from saving.
    """
    progress = training.progress
    began = time.monotonic() - progress.seconds
    with closing(training.stream.from_position(Position(progress.epoch, progress.batch))) as groups:
        for group in groups:
            report = training.update(group.batches, progress.step + 1)
            progress.step = report.step
            progress.epoch, progress.batch = group.after
            progress.tokens += report.num_tokens
            progress.seconds = time.monotonic() - began
            reasons = [hook(training, report) for hook in hooks]
            if reason := next(filter(None, reasons), None):
                return reason
    raise AssertionError("the stream of batches is endless")
