"""The training loop: for each group of batches a step, then hooks."""

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
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
    validation_seconds: float = 0.0  # of these, spent in validation
    best: float | None = None  # of training.best_metric; larger is better
    best_step: int = 0
    waited: int = 0  # validations since the best one
    finished: str | None = None  # why the run ended, if it did

    @property
    def training_seconds(self) -> float:
        return self.seconds - self.validation_seconds

    def state_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class Training:
    """What a run is made of while it trains."""

    stream: BatchStream
    update: Update
    progress: Progress = field(default_factory=Progress)
    began: float = 0.0  # when the run would have begun, had it been one process without a pause

    def start_clock(self) -> None:
        """Go on counting seconds where the run stands."""
        self.began = time.monotonic() - self.progress.seconds

    def count_time(self) -> None:
        """Bring ``progress.seconds`` up to now."""
        self.progress.seconds = time.monotonic() - self.began

    def state_dict(self) -> dict[str, Any]:
        """All that the steps to come depend on; all processes of the run must ask for it."""
        generators = {"cpu": torch.get_rng_state()}
        device = self.update.device
        if device.type == "cuda":
            generators["cuda"] = torch.cuda.get_rng_state(device)
        return {
            "progress": self.progress.state_dict(),
            "generators": self.update.parallel.world.gather(generators),  # of each process
            "threads": torch.get_num_threads(),
            "group_size": self.stream.group_size,
            **self.update.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.progress = Progress(**state["progress"])
        self.update.load_state_dict(state)
        world, device = self.update.parallel.world, self.update.device
        if len(state["generators"]) != world.size:
            seed_process(self.stream.seed, world.rank, self.progress.step)
            return
        generators = state["generators"][world.rank]
        torch.set_rng_state(generators["cpu"])
        if "cuda" in generators and device.type == "cuda":
            torch.cuda.set_rng_state(generators["cuda"], device)


def seed_process(seed: int, rank: int, step: int) -> None:
    """Give a process random numbers of its own, where those of the run cannot be gone on with."""
    torch.manual_seed(int(np.random.SeedSequence([seed, rank, step]).generate_state(1)[0]))


# A hook looks at the run after each step, and may give the reason to end it.
Hook = Callable[[Training, StepReport], str | None]


def fit(training: Training, hooks: Sequence[Hook]) -> str:
    """Train until a hook gives a reason to stop, and return it; all hooks see every step."""
    progress = training.progress
    training.start_clock()
    with closing(training.stream.from_position(Position(progress.epoch, progress.batch))) as groups:
        for group in groups:
            report = training.update(
                group.batches, progress.step + 1, num_tokens=group.num_tokens, spare=group.spare
            )
            progress.step = report.step
            progress.epoch, progress.batch = group.after
            progress.tokens += report.num_tokens
            training.count_time()
            reasons = [hook(training, report) for hook in hooks]
            if reason := next(filter(None, reasons), None):
                return reason
    raise AssertionError("the stream of batches is endless")
