"""What happens between steps: limits, validation, saving."""

import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path

from translate.training.checkpoint import model_tensors, save_checkpoint
from translate.training.distributed import World
from translate.training.loop import Progress, Training
from translate.training.parallel import whole
from translate.training.settings import TrainingConfig
from translate.training.shards import write_shards
from translate.training.signals import EXIT_CODES, Signals
from translate.training.update import StepReport

MAX_TIME, PATIENCE = "max_time", "patience"
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
            return MAX_TIME
        return None


class Keeper:
    """Validates and saves: every so many steps, and once more when the run ends.

    Args:
        config: of the training.
        directory: ``checkpoints`` of the run.
        validate: scores of the model as it is, by metric name; none if there is nothing to validate on.
        report: is told the scores of each validation.
        limits: to validate and save at the last step.
        signals: to save when interrupted.
        world: whose processes stop, validate and save together.
    """

    def __init__(
        self,
        config: TrainingConfig,
        directory: Path,
        validate: Callable[[], Mapping[str, float]],
        report: Callable[[Progress, Mapping[str, float]], None],
        limits: Limits,
        signals: Signals,
        world: World | None = None,
    ) -> None:
        self.config = config
        self.directory = directory
        self.validate = validate
        self.report = report
        self.limits = limits
        self.signals = signals
        self.world = world or World()

    def __call__(self, training: Training, step_report: StepReport) -> str | None:
        """Do what is due after a step; the reason to end a run is given once its checkpoint is written."""
        progress, config = training.progress, self.config
        reason = self.world.agree(self.signals.caught or self.limits.reached(progress))
        if reason in EXIT_CODES:
            self.save(training)
            return reason
        if reason or progress.step % config.validate_every == 0:
            improved = self._validate(training)
            if config.patience is not None and progress.waited >= config.patience:
                reason = PATIENCE
            self.save(training, best=improved, finished=None if reason == MAX_TIME else reason)
            return self.world.agree(self.signals.caught) or reason
        if config.save_every is not None and progress.step % config.save_every == 0:
            self.save(training)
        return None

    def _validate(self, training: Training) -> bool:
        """Score the model; returns whether it is the best so far (without a validation split, always)."""
        progress, average = training.progress, training.update.average
        began = time.monotonic()
        with average.applied() if average else nullcontext():
            scores = dict(self.validate())
        progress.validation_seconds += time.monotonic() - began
        training.count_time()
        if not scores:
            progress.best_step = progress.step
            return True
        metric = self.config.best_metric
        value = -scores[metric] if metric in LOWER_IS_BETTER else scores[metric]
        improved = progress.best is None or value > progress.best
        progress.waited = 0 if improved else progress.waited + 1
        if improved:
            progress.best, progress.best_step = value, progress.step
        training.update.schedule.observe(improved=improved)
        self.report(progress, scores)
        return improved

    def save(self, training: Training, *, best: bool = False, finished: str | None = None) -> None:
        """Write a checkpoint now; all processes take part, and the main one writes what all have."""
        training.progress.finished = finished
        average = training.update.average
        with average.applied() if average else nullcontext():
            weights = {}
            for name, tensor in model_tensors(training.update.model).items():
                complete = whole(tensor)
                if self.world.is_main:
                    weights[name] = complete.clone()
        state, shards = write_shards(self.directory, training.state_dict(), self.world)
        if self.world.is_main:
            save_checkpoint(
                self.directory,
                training.progress.step,
                weights,
                state,
                best=best,
                keep_last=self.config.keep_last,
                shards=shards,
            )
