"""The lines of a run on the terminal: first ones, progress, last ones."""

import math
import resource
import shlex
import sys
import time
from collections.abc import Mapping
from typing import Any

import torch
from rich.console import Console
from rich.live import Live
from rich.text import Text

from translate.config.names import aligned, counted
from translate.config.settings import Settings
from translate.config.training import TrainingConfig
from translate.corpora.split import Split
from translate.evaluation.scores import SCALE
from translate.runs.run_directory import RunDirectory
from translate.training.loop import Limits, Progress, Training
from translate.training.update import StepReport, Update

REFRESH_EVERY = 10  # optimizer steps, on a terminal
LONGEST_SILENCE = 3, 60  # seconds on a terminal, and elsewhere
FIRST_SILENCE = 10  # elsewhere, before the first line
GUIDED = "guided: one head of attention learns word links; training.guided_alignment=0 leaves it to itself"
BLEU = f"bleu: what translations share with the references, 0 to 100; {SCALE}"


class ProgressLine:
    """Shows losses, speed, memory and time left after each step; :meth:`note` prints lines that stay.

    Args:
        config: of the training.
        training: where it begins.
        limits: of the run.
    """

    def __init__(self, config: TrainingConfig, training: Training, limits: Limits) -> None:
        self.config = config
        self.limits = limits
        self.started = self.shown = time.monotonic()
        progress = training.progress
        self.first = limits.parts(progress.step, training.stream.epochs(progress.position))
        self.live: Live | None = None
        if sys.stdout.isatty():
            self.live = Live(console=Console(highlight=False), auto_refresh=False, transient=True)
            self.live.start()
        else:
            self.shown -= LONGEST_SILENCE[1] - FIRST_SILENCE

    def __call__(self, training: Training, report: StepReport) -> None:
        training.window.add(report)
        every, silence = REFRESH_EVERY if self.live else self.config.log_every, LONGEST_SILENCE[not self.live]
        now = time.monotonic()
        if report.step % every == 0 or now - self.shown > silence:
            self.shown = now
            text = self._text(training, report)
            if self.live:  # a narrow terminal shows its beginning, the most important parts
                self.live.update(Text(text[: self.live.console.width - 1], no_wrap=True), refresh=True)
            else:
                print(text)

    def note(self, text: str) -> None:
        """Print a line that stays."""
        if self.live:
            self.live.console.print(text, markup=False, soft_wrap=True)
        else:
            print(text)

    def close(self) -> None:
        """Give the terminal's line back."""
        if self.live:
            self.live.stop()

    def _text(self, training: Training, report: StepReport) -> str:
        means = training.window.means(training.progress.training_seconds)
        epoch = training.stream.epochs(training.progress.position)
        left = self.seconds_left(report.step, epoch)
        parts = [
            f"step {report.step}",
            f"nll {means['nll']:.3f}",
            f"{means['tokens_per_second']:,.0f} tokens/s",
            "" if left is None else f"{clock(left)} left",
            f"{peak_memory(training.update.device) / 2**30:.2f} GiB memory",
            f"epoch {epoch:.2f}",
            f"loss {means['loss']:.3f}",
            f"lr {report.learning_rate:.2e}",
        ]
        return "  ".join(filter(None, parts))

    def seconds_left(self, step: int, epoch: float) -> float | None:
        """Seconds until the limit that ends the run first, or ``None`` for a run without a limit."""
        first, passed = self.first, time.monotonic() - self.started
        found = [
            passed * max(0.0, 1 - part) / (part - first[name])
            for name, part in self.limits.parts(step, epoch).items()
            if part > first[name]
        ]
        return min(found, default=None)


def score_line(step: int, scores: Mapping[str, float]) -> str:
    """A validation's scores as one line."""
    return f"validation at step {step}: " + "  ".join(
        score_text(name, value) for name, value in scores.items()
    )


def score_text(name: str, value: float) -> str:
    """A score with its name, in its unit."""
    return f"{name} {100 * value:.2f} %" if name == "aer" else f"{name} {value:.3f}"


def peak_memory(device: torch.device) -> int:
    """The peak memory of the process, or of its GPU, in bytes."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def clock(seconds: float) -> str:
    """``4:05``, or ``1:04:05`` from an hour on."""
    minutes, left = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{left:02d}" if hours else f"{minutes}:{left:02d}"


def machine_text(update: Update) -> str:
    """Device and precision of the training."""
    threads = f", {counted(torch.get_num_threads(), 'thread')}" if update.device.type == "cpu" else ""
    return f"{update.device}{threads}, {str(update.precision).removeprefix('torch.')}"


def start_lines(
    settings: Settings, training: Training, directory: RunDirectory, validated: Split | None
) -> list[str]:
    """Model, batches and device, and the words of the lines that follow.

    The corpus has been summed up when it was read.
    """
    links = ", aer: the error rate of word links beside the gold ones, which are known to be right"
    has_gold = validated is not None and validated.gold is not None
    model = training.update.model
    count = training.update.parallel.world.size
    processes = f"; {count} processes by {settings.runtime.parallel}" if count > 1 else ""
    frozen = sum(parameter.numel() for parameter in model.parameters() if not parameter.requires_grad)
    kept = f" and {frozen:,} frozen ones" if frozen else ""
    groups = training.stream.group_size
    steps = f", {groups} of them a step" if groups > 1 else ""
    return [
        f"model {settings.model.get('name', type(model).__name__)}: {model.num_parameters():,} parameters"
        f"{kept}, {len(model.output_weight):,} target pieces",
        f"{counted(training.stream.epoch_length, 'batch', 'es')} an epoch of at most "
        f"{settings.training.batch_tokens:,} target tokens{steps}; "
        f"device {machine_text(training.update)}{processes}",
        *([GUIDED] if settings.training.guided_alignment else []),
        f"run directory {directory.path}",
        "nll: the negative log-likelihood of a target piece (a word or a part of one)"
        f"{links if has_gold else ''}; lower is better",
        "loss: what training lowers, which is nll and what the settings add to it",
        *([BLEU] if validated is not None else []),
    ]


def closing_lines(
    settings: Settings,
    progress: Progress,
    scores: Mapping[str, Any],
    changes: str,
    directory: RunDirectory,
    sentence: str,
) -> list[str]:
    """The run as a table, one line a row; ``changes`` are those of the scores since its start.

    ``sentence`` is one that the run may translate.
    """
    rows = {
        "steps": f"{progress.step:,}, {counted(progress.epoch, 'whole epoch')}",
        "target tokens": f"{progress.tokens:,}, {scores['tokens_per_second']:,.0f} a second",
        "time": f"{clock(progress.training_seconds)} in steps and {clock(progress.validation_seconds)} in "
        "validation, beside the preparation",
    }
    if progress.best:
        metric = settings.training.best_metric
        own = (entry for entry in progress.best if entry[2] == progress.best_step)
        value, likelihood, _ = next(own, progress.best[0])
        chance = metric == "bleu" and value == 0  # as of hooks.goodness
        shown = ["bleu below 1" if chance else score_text(metric, abs(value))]
        if metric != "nll" and math.isfinite(likelihood):
            shown.append(score_text("nll", -likelihood))
        used = ", whose weights are used" * (progress.best_step < progress.step)
        rows["best validation"] = f"{', '.join(shown)} at step {progress.best_step:,}{used}"
    if changes:
        rows["since the start"] = changes
    rows["kept in"] = str(directory.path)
    if settings.data.read == "text":
        plugins = "".join(f" --plugin {name}" for name in settings.run.plugins)
        path, quoted = shlex.quote(str(directory.path)), shlex.quote(sentence)
        rows["try it"] = f"translate text {path}{plugins} {quoted}"
    return aligned(list(rows.items()))
