"""What training prints: one line that is rewritten on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Mapping

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from translate.training.loop import Training
from translate.training.settings import TrainingConfig
from translate.training.update import StepReport


class ProgressLine:
    """Loss, speed and time left; call it after each step, and :meth:`note` for lines that stay."""

    def __init__(self, config: TrainingConfig, *, began: float, start_step: int, epoch_batches: int) -> None:
        self.config = config
        self.began = began  # of the process, as training.max_time counts it
        self.started = time.monotonic()
        self.start_step = start_step
        self.epoch_batches = epoch_batches
        self.window_began = self.started
        self.loss = self.likelihood = self.tokens = self.places = self.source_tokens = 0.0
        self.console = Console(highlight=False, soft_wrap=True)
        self.bar: Progress | None = None
        if sys.stdout.isatty():
            columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), TimeElapsedColumn())
            self.bar = Progress(*columns, console=self.console, transient=True)
            self.task = self.bar.add_task("training", total=1.0)
            self.bar.start()

    def __call__(self, training: Training, report: StepReport) -> None:
        self.tokens += report.num_tokens
        self.source_tokens += report.num_source_tokens
        self.places += report.padded_tokens
        self.loss = self.loss + report.loss  # stays on the device until it is printed
        self.likelihood = self.likelihood + report.likelihood
        every = 10 if self.bar else self.config.log_every
        if report.step % every == 0:
            self._show(training, report)

    def window(self) -> dict[str, float]:
        """Means since the last call that logged."""
        seconds = max(1e-9, time.monotonic() - self.window_began)
        tokens = max(1.0, self.tokens)
        return {
            "loss": float(self.loss) / tokens,
            "nll": float(self.likelihood) / tokens,
            "tokens_per_second": self.tokens / seconds,
            "padding": 1 - (self.tokens + self.source_tokens) / max(1.0, self.places),
        }

    def restart_window(self) -> None:
        """Begin a new mean; time spent in validation does not count as training."""
        self.window_began = time.monotonic()
        self.loss = self.likelihood = self.tokens = self.places = self.source_tokens = 0.0

    def note(self, text: str) -> None:
        """Print a line that stays."""
        if self.bar:
            self.bar.console.print(text, markup=False)
        else:
            print(text, flush=True)

    def close(self) -> None:
        if self.bar:
            self.bar.stop()

    def _show(self, training: Training, report: StepReport) -> None:
        now = self.window()
        share = self.share_done(training)
        elapsed = time.monotonic() - self.started
        left = f"  {_clock(elapsed * (1 - share) / share)} left" if 0 < share < 1 else ""
        epoch = training.progress.epoch + training.progress.batch / max(1, self.epoch_batches)
        line = (
            f"epoch {epoch:.2f}  step {report.step}  loss {now['loss']:.3f}  "
            f"{now['tokens_per_second']:,.0f} tokens/s  padding {100 * now['padding']:.1f} %  "
            f"lr {report.learning_rate:.2e}{left}"
        )
        if self.bar:
            self.bar.update(self.task, completed=share, description=line)
        else:
            print(line, flush=True)

    def share_done(self, training: Training) -> float:
        """How much of this process' part of the run is done, by the limit that ends it first."""
        config, progress = self.config, training.progress
        shares = [0.0]
        if config.max_steps:
            shares.append((progress.step - self.start_step) / max(1, config.max_steps - self.start_step))
        if config.max_epochs:
            done = progress.epoch + progress.batch / max(1, self.epoch_batches)
            shares.append(done / config.max_epochs)
        if config.max_time:
            shares.append((time.monotonic() - self.started) / max(1.0, config.max_time))
        return min(1.0, max(shares))


def score_line(step: int, scores: Mapping[str, float]) -> str:
    """A validation's scores as one line."""
    parts = []
    for name, value in scores.items():
        parts.append(f"{name} {100 * value:.2f} %" if name == "aer" else f"{name} {value:.3f}")
    return f"validation at step {step}: " + "  ".join(parts)


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
