"""What happens between steps: limits, signals, validation, saving."""

import signal
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from types import FrameType

from torch import Tensor

from translate.training.checkpoint import point, save_checkpoint
from translate.training.loop import Progress, Training
from translate.training.settings import TrainingConfig
from translate.training.update import StepReport

INTERRUPTED, TERMINATED = "interrupted", "terminated"
EXIT_CODES = {INTERRUPTED: 130, TERMINATED: 75}  # 75: EX_TEMPFAIL, try again
LOWER_IS_BETTER = ("loss", "aer")


class Limits:
    """Ends a run at its steps, epochs, or seconds of this process."""

    def __init__(self, config: TrainingConfig, *, began: float) -> None:
        self.config = config
        self.began = began

    def reached(self, progress: Progress) -> str | None:
        """The limit that the run has reached."""
        config = self.config
        if config.max_steps is not None and progress.step >= config.max_steps:
            return "max_steps"
        if config.max_epochs is not None and progress.epoch >= config.max_epochs:
            return "max_epochs"
        if config.max_time is not None and time.monotonic() - self.began >= config.max_time:
            return "max_time"
        return None

    def __call__(self, training: Training, report: StepReport) -> str | None:
        return self.reached(training.progress)


class Signals:
    """SIGTERM and the first Ctrl-C end the run after the step; a second Ctrl-C ends it at once."""

    def __init__(self) -> None:
        self.caught: str | None = None
        self._before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def __enter__(self) -> "Signals":
        for number in self._before:
            signal.signal(number, self._catch)
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _catch(self, number: int, frame: FrameType | None) -> None:
        self.caught = TERMINATED if number == signal.SIGTERM else INTERRUPTED
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def __call__(self, training: Training, report: StepReport) -> str | None:
        return self.caught


class Keeper:
    """Validates and saves: every so many steps, and once more when the run ends.

    Args:
        config: of the training.
        directory: ``checkpoints`` of the run.
        validate: scores of the model as it is, by metric name.
        report: is told the scores of each validation.
        limits: to validate and save at the last step.
        signals: to save when interrupted.
    """

    def __init__(
        self,
        config: TrainingConfig,
        directory: Path,
        validate: Callable[[], Mapping[str, float]],
        report: Callable[[Progress, Mapping[str, float]], None],
        limits: Limits,
        signals: Signals,
    ) -> None:
        self.config = config
        self.directory = directory
        self.validate = validate
        self.report = report
        self.limits = limits
        self.signals = signals
        self.saved = 0  # step of the last checkpoint

    def __call__(self, training: Training, step_report: StepReport) -> str | None:
        progress = training.progress
        ends = self.limits.reached(progress)
        interrupted = self.signals.caught is not None
        reason = None
        if not interrupted and (ends or progress.step % self.config.validate_every == 0):
            improved = self._validate(training)
            if self.config.patience is not None and progress.waited >= self.config.patience:
                reason = "patience"
            self.save(training, best=improved, finished=reason or (ends if ends != "max_time" else None))
        elif interrupted or (self.config.save_every and progress.step % self.config.save_every == 0):
            self.save(training)
        return reason

    def _validate(self, training: Training) -> bool:
        progress, average = training.progress, training.update.average
        with average.applied() if average else nullcontext():
            scores = dict(self.validate())
        metric = self.config.best_metric if self.config.best_metric in scores else "loss"
        value = -scores[metric] if metric in LOWER_IS_BETTER else scores[metric]
        improved = progress.best is None or value > progress.best
        progress.waited = 0 if improved else progress.waited + 1
        if improved:
            progress.best, progress.best_step = value, progress.step
        training.update.schedule.observe(improved=improved)
        self.report(progress, scores)
        return improved

    def save(self, training: Training, *, best: bool = False, finished: str | None = None) -> None:
        """Write a checkpoint now."""
        training.progress.finished = finished
        average = training.update.average
        with average.applied() if average else nullcontext():
            weights: dict[str, Tensor] = {
                name: parameter.detach().clone() for name, parameter in training.update.model.named_parameters()
            }
        folder = save_checkpoint(
            self.directory, training.progress.step, weights, training.state_dict(), keep_last=self.config.keep_last
        )
        if best:
            point(self.directory, "best", folder)
        self.saved = training.progress.step
