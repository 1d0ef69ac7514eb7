"""Where the time of a training step goes: a PyTorch trace of a few steps."""

from collections.abc import Callable
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

from translate.training.loop import Training
from translate.training.progress import StepReport

WARM_UP, STEPS = 5, 5  # optimizer steps before the trace, and in it
SHOWN = 10  # operations
NAME_WIDTH = 48  # characters


class Profiler:
    """Traces some early steps of this process; a hook of the loop.

    Args:
        path: of the trace, a JSON file for Perfetto or chrome://tracing.
        note: prints a line, here the most expensive operations.
    """

    def __init__(self, path: Path, note: Callable[[str], None]) -> None:
        self.path = path
        self.note = note
        self.seen = 0
        self.trace: profile | None = None

    def __call__(self, training: Training, report: StepReport) -> str | None:
        self.seen += 1
        if self.seen == WARM_UP:
            self._start(training.update.device)
        elif self.seen == WARM_UP + STEPS:
            self.close()
        return None

    def close(self) -> None:
        """Write the trace, if it has not been written; the run may end before the last traced step."""
        if self.trace is None:
            if self.seen < WARM_UP:
                self.note(f"training.profile: the run ended before step {WARM_UP + 1}, nothing was traced")
            return
        trace, self.trace = self.trace, None
        trace.stop()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        trace.export_chrome_trace(str(self.path))
        for line in most_expensive(trace, on_gpu=ProfilerActivity.CUDA in trace.activities):
            self.note(line)
        self.note(f"trace of {self.seen - WARM_UP} steps: {self.path} (open it in ui.perfetto.dev)")

    def _start(self, device: torch.device) -> None:
        activities = [ProfilerActivity.CPU]
        if device.type == "cuda":
            activities.append(ProfilerActivity.CUDA)
        self.trace = profile(activities=activities)
        self.trace.start()


def most_expensive(trace: profile, *, on_gpu: bool) -> list[str]:
    """The operations that took most time, excluding the operations they call: a table in lines."""
    measured = "self_device_time_total" if on_gpu else "self_cpu_time_total"  # microseconds
    events = sorted(trace.key_averages(), key=lambda event: -getattr(event, measured))
    total = sum(getattr(event, measured) for event in events) or 1.0
    lines = [f"{'operation':<{NAME_WIDTH}} {'calls':>8} {'ms':>10} {'share':>7}"]
    for event in events[:SHOWN]:
        spent = getattr(event, measured)
        name = event.key if len(event.key) <= NAME_WIDTH else event.key[: NAME_WIDTH - 1] + "…"
        lines.append(
            f"{name:<{NAME_WIDTH}} {event.count:>8,} {spent / 1000:>10,.1f} {100 * spent / total:>5.1f} %"
        )
    return lines
