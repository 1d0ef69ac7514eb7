"""The training loop: a step for each group of batches, then the hooks."""

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import torch

from translate.training.generators import generator_states, restore_generators, seed_process
from translate.training.progress import Progress, StepReport, Window
from translate.training.recovery import Recovery
from translate.training.schedules import Schedules
from translate.training.stream import BatchStream, Position
from translate.training.update import Update


@dataclass
class Training:
    """The parts of a run that training changes."""

    stream: BatchStream
    schedules: Schedules
    take_step: Recovery
    progress: Progress = field(default_factory=Progress)
    window: Window = field(default_factory=Window)
    identity: dict[str, str] = field(default_factory=dict)  # of texts and tokenizers
    began: float = 0.0  # when a single process without pauses would have begun

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
            "progress": self.progress.state_dict(),
            "generators": self.update.parallel.world.gather(own),  # of every process
            "threads": torch.get_num_threads(),
            "group_size": self.stream.group_size,
            "window": self.window.state_dict(),
            "identity": self.identity,
            "schedule": self.schedules.rate.state_dict(),
            **self.update.state_dict(),
            **self.take_step.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.progress = Progress.from_state(state["progress"])
        self.update.load_state_dict(state)
        self.take_step.load_state_dict(state)
        self.schedules.rate.load_state_dict(state["schedule"])
        self.window = Window.from_state(state["window"])
        world = self.update.parallel.world
        if len(state["generators"]) == world.size:
            restore_generators(state["generators"][world.rank], self.update.device)
        else:
            seed_process(self.stream.seed, world.rank, self.progress.step)


# A hook looks at the run after each step, and may return the reason to end it.
Hook = Callable[[Training, StepReport], str | None]


def fit(training: Training, hooks: Sequence[Hook]) -> str:
    """Train until a hook returns a reason to stop, and return that; all hooks see every step."""
    progress = training.progress
    training.start_clock()
    start = Position(progress.epoch, progress.batch, progress.block)
    with closing(training.stream.from_position(start, progress.step)) as groups:
        for group in groups:
            step = progress.step + 1
            training.schedules.begin_step(step, progress.epoch)
            report = training.take_step(group.batches, step, num_tokens=group.num_tokens, spare=group.spare)
            progress.add(report)
            progress.epoch, progress.batch, progress.block = group.after
            training.count_time()
            reasons = [hook(training, report) for hook in hooks]
            if reason := next(filter(None, reasons), None):
                return reason
    raise AssertionError("the stream of batches is endless")
