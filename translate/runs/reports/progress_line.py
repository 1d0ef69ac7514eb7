"""The progress of training: one line that is rewritten on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from rich.console import Console
from rich.live import Live
from rich.text import Text

from translate.config.training import TrainingConfig
from translate.training.loop import Training
from translate.training.progress import StepReport

REFRESH_EVERY = 10  # optimizer steps, on a terminal
LEAST_IMPORTANT = ("rate", "padding", "loss", "epoch", "memory", "left")  # on a narrow one


@dataclass(frozen=True)
class TimeLeft:
    """Estimates how long this process still needs, by the limit that ends the run first.

    Attributes:
        config: with the limits.
        began: when the process began, from which ``training.max_time`` counts.
        started: when its first step began.
        start_step: at which this process began.
        start_epoch: at which this process began, with a fraction.
    """

    config: TrainingConfig
    began: float
    started: float
    start_step: int
    start_epoch: float

    def seconds(self, step: int, epoch: float, *, now: float) -> float | None:
        """Seconds from ``now``, or ``None`` for a run without a limit."""
        config = self.config
        found = []
        for limit, here, start in (
            (config.max_steps, step, self.start_step),
            (config.max_epochs, epoch, self.start_epoch),
        ):
            if limit is not None and here > start:
                found.append((now - self.started) * (limit - here) / (here - start))
        if config.max_time is not None:
            found.append(config.max_time - (now - self.began))
        return max(0.0, min(found)) if found else None


class ProgressLine:
    """Shows losses, speed, memory and time left after each step; :meth:`note` prints lines that stay."""

    def __init__(self, config: TrainingConfig, training: Training, *, began: float) -> None:
        self.config = config
        self.epoch_batches = max(1, training.stream.epoch_length())
        self.started = time.monotonic()
        self.left = TimeLeft(config, began, self.started, training.progress.step, self._epoch(training))
        self.live: Live | None = None
        if sys.stdout.isatty():
            self.live = Live(console=Console(highlight=False), auto_refresh=False, transient=True)
            self.live.start()

    def __call__(self, training: Training, report: StepReport) -> None:
        training.window.add(report)
        if report.step % (REFRESH_EVERY if self.live else self.config.log_every) == 0:
            self._show(training, report)

    def note(self, text: str) -> None:
        """Print a line that stays."""
        if self.live:
            self.live.console.print(text, markup=False, soft_wrap=True)
        else:
            print(text, flush=True)

    def close(self) -> None:
        """Release the terminal."""
        if self.live:
            self.live.stop()

    def _epoch(self, training: Training) -> float:
        return training.progress.epoch + training.progress.batch / self.epoch_batches

    def _show(self, training: Training, report: StepReport) -> None:
        means, epoch, now = (
            training.window.means(training.progress.training_seconds),
            self._epoch(training),
            time.monotonic(),
        )
        left = self.left.seconds(report.step, epoch, now=now)
        memory = peak_memory(training.update.device)
        parts = {
            "epoch": f"epoch {epoch:.2f}",
            "step": f"step {report.step}",
            "nll": f"nll {means['nll']:.3f}",
            "loss": f"loss {means['loss']:.3f}",
            "speed": f"{means['tokens_per_second']:,.0f} tokens/s",
            "left": "" if left is None else f"{clock(left)} left",
            "padding": f"padding {100 * means['padding']:.1f} %",
            "rate": f"lr {report.learning_rate:.2e}",
            "memory": "" if memory is None else f"{memory / 2**30:.2f} GiB",
        }
        if self.live:
            past = now - self.started
            share = 0.0 if left is None else past / max(1e-9, past + left)
            width = self.live.console.width
            self.live.update(bar(fitting(parts, width - 1), share, width), refresh=True)
        else:
            print("  ".join(filter(None, parts.values())), flush=True)


def fitting(parts: Mapping[str, str], width: int) -> str:
    """The parts that fit into ``width`` characters, in order; the least important ones go first."""
    shown = {name: part for name, part in parts.items() if part}
    for name in LEAST_IMPORTANT:
        if len("  ".join(shown.values())) <= width:
            break
        shown.pop(name, None)
    return "  ".join(shown.values())


def bar(text: str, share: float, width: int) -> Text:
    """``text`` as a line of a terminal, on a background that grows with the finished share of the run."""
    line = text[: width - 1].ljust(width - 1)
    done = round(share * len(line))
    return Text.assemble((line[:done], "reverse"), line[done:], no_wrap=True)


def score_line(step: int, scores: Mapping[str, float]) -> str:
    """A validation's scores as one line."""
    return f"validation at step {step}: " + "  ".join(
        score_text(name, value) for name, value in scores.items()
    )


def score_text(name: str, value: float) -> str:
    """A score with its name, in its unit."""
    return f"{name} {100 * value:.2f} %" if name == "aer" else f"{name} {value:.3f}"


def peak_memory(device: torch.device) -> int | None:
    """The peak memory of the process, or of its GPU, in bytes; ``None`` if the system does not report it."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    try:
        import resource  # not on every system
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def clock(seconds: float) -> str:
    """``4:05``, or ``1:04:05`` from an hour on."""
    minutes, left = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{left:02d}" if hours else f"{minutes}:{left:02d}"
