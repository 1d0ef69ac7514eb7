"""The training loop: a step for each group of batches, then the hooks; and the random numbers of a run."""

import random
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

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
