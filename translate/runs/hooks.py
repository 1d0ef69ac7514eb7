"""What happens between steps: limits, validation, saving."""

import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext

from translate.config.training import TrainingConfig
from translate.runs.signals import EXIT_CODES, Signals
from translate.storage.shards import write_shards
from translate.storage.writer import Writer
from translate.training.distributed import World
from translate.training.loop import Progress, Training
from translate.training.parallel import whole
from translate.training.tensors import model_tensors
from translate.training.update import StepReport

MAX_TIME, PATIENCE = "max_time", "patience"
LOWER_IS_BETTER = ("nll", "aer", "ter")


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
        writer: of checkpoints; the main process has them written.
        validate: scores of the model as it is, by metric name; none if there is nothing to validate on.
        report: is told the scores of each validation.
        limits: to validate and save at the last step.
        signals: to save when interrupted.
        world: whose processes stop, validate and save together.
    """

    def __init__(
        self,
        config: TrainingConfig,
        writer: Writer,
        validate: Callable[[], Mapping[str, float]],
        report: Callable[[Progress, Mapping[str, float]], None],
        limits: Limits,
        signals: Signals,
        world: World | None = None,
    ) -> None:
        self.config = config
        self.writer = writer
        self.validate = validate
        self.report = report
        self.limits = limits
        self.signals = signals
        self.world = world or World()

    def __call__(self, training: Training, step_report: StepReport) -> str | None:
        """Do what is due after a step; the reason to end a run is given once its checkpoint is written."""
        progress, config = training.progress, self.config
        self.writer.check()
        reason = self.world.agree(self.signals.caught or self.limits.reached(progress))
        if reason in EXIT_CODES:
            self.save(training)
            self.writer.wait()
            return reason
        if reason or progress.step % config.validate_every == 0:
            return self._validate_and_save(training, reason)
        if config.save_every is not None and progress.step % config.save_every == 0:
            self.save(training)
        return None

    def conclude(self, training: Training) -> str | None:
        """Validate and save a run that was interrupted at its last step; none that has steps left."""
        reason = self.limits.reached(training.progress)
        if reason in (None, MAX_TIME):
            return None
        training.start_clock()
        return self._validate_and_save(training, reason)

    def _validate_and_save(self, training: Training, reason: str | None) -> str | None:
        """Returns the reason to end the run: the one that is known, patience, or a signal meanwhile."""
        improved = self._validate(training)
        if self.config.patience is not None and training.progress.waited >= self.config.patience:
            reason = PATIENCE
        self.save(training, best=improved, finished=None if reason == MAX_TIME else reason)
        reason = self.world.agree(self.signals.caught) or reason
        if reason:
            self.writer.wait()
        return reason

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
        improved = progress.rank(*goodness(scores, self.config.best_metric), keep=self.config.keep_best)
        progress.waited = 0 if improved else progress.waited + 1
        training.update.schedule.observe(improved=improved)
        self.report(progress, scores)
        return improved

    def save(self, training: Training, *, best: bool = False, finished: str | None = None) -> None:
        """Have a checkpoint written of what is now; the training goes on meanwhile.

        All processes take part, and the main one has written what all hold.
        """
        training.progress.finished = finished
        update = training.update
        weights = model_tensors(update.model)
        if update.average is not None:
            weights |= update.average.named_weights(update.model)
        complete = {}
        for name, tensor in weights.items():
            put_together = whole(tensor)
            if self.world.is_main:
                complete[name] = put_together
        self.writer.wait()  # what is in parts goes through the same folder each time
        state, shards = write_shards(self.writer.directory, training.state_dict(), self.world)
        if self.world.is_main:
            self.writer.submit(
                training.progress.step,
                complete,
                state,
                best=best,
                keep_last=self.config.keep_last,
                keep_steps=tuple(training.progress.best_steps),
                shards=shards,
            )


def goodness(scores: Mapping[str, float], metric: str) -> tuple[float, float]:
    """The score by ``metric`` larger being better, and the log-likelihood, which decides between equals."""
    return -scores[metric] if metric in LOWER_IS_BETTER else scores[metric], -scores["nll"]
