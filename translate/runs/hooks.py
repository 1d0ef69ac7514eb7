"""Between steps: validate, save, and end at a limit or a signal, after which the run can be resumed."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import NoReturn

from translate.config.training import TrainingConfig
from translate.runs.checkpoint import Writer
from translate.runs.run_directory import RunDirectory, last_checkpoint
from translate.runs.shards import write_shards
from translate.training.loop import Limits, Progress, Training
from translate.training.parallel import World, whole
from translate.training.update import StepReport
from translate.training.weights import model_tensors

PATIENCE = "patience"
LOWER_IS_BETTER = ("nll", "aer", "ter")
BLEU_OF_A_NAT = 10.0  # that of a few hundred pairs varies: docs/experiments/2026-11-fine-tuning.md
INTERRUPTED, TERMINATED = "interrupted", "terminated"
EXIT_CODES = {INTERRUPTED: 130, TERMINATED: 75}  # 75: EX_TEMPFAIL, try again


@dataclass
class Signals:
    """SIGTERM and the first Ctrl-C ask the run to end after the step; a second Ctrl-C ends it at once.

    Attributes:
        quiet: print nothing, because another process does.
        caught: the signal that came, in words.
    """

    quiet: bool = False
    caught: str | None = None

    def catch(self, number: int, frame: FrameType | None) -> None:
        """Note a signal; a handler of :func:`handled`."""
        self.caught = TERMINATED if number == signal.SIGTERM else INTERRUPTED
        _handle(signal.SIGINT, signal.default_int_handler)
        if not self.quiet:
            text = f"\n{self.caught}: the run is saved after this step; Ctrl-C ends it at once\n"
            os.write(2, text.encode())


@contextmanager
def handled(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Let SIGTERM and Ctrl-C call ``handler``; afterwards those of before are back."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        for number in before:
            _handle(number, handler)
        yield
    finally:
        for number, earlier in before.items():
            _handle(number, earlier)


@contextmanager
def leave_on_signals(directory: Path, goes_on: str = "") -> Iterator[None]:
    """While there is nothing to save, SIGTERM and Ctrl-C leave with their codes, and say how to go on.

    So does the second Ctrl-C of :class:`Signals`, which does not wait until the run is saved.

    Args:
        directory: of the run.
        goes_on: how to go on, if not with this run alone.
    """
    run = RunDirectory(directory)
    before = run.written()

    def leave(name: str, state: str) -> NoReturn:
        own = run.resume_command() if run.written() != before else "the same command"
        os.write(2, f"\n{name}: {state}; go on with: {goes_on or own}\n".encode())
        raise SystemExit(EXIT_CODES[name])

    def at_once(number: int, frame: FrameType | None) -> None:
        leave(TERMINATED if number == signal.SIGTERM else INTERRUPTED, "nothing had to be saved")

    with handled(at_once):
        try:
            yield
        except KeyboardInterrupt:
            leave(INTERRUPTED, last_checkpoint(run.checkpoints))


def _handle(number: int, handler: object) -> None:
    # Python allows this only in the main thread; a run in another one handles no signals.
    if threading.current_thread() is threading.main_thread():
        signal.signal(number, handler)  # type: ignore[arg-type]


@dataclass
class Keeper:
    """Validates and saves at intervals, and once more when the run ends.

    Attributes:
        config: of the training.
        writer: writes checkpoints, in the main process.
        validate: scores of the present model by metric name; empty without a validation split.
        report: receives the scores of each validation.
        limits: of the run, whose last step is validated and saved.
        signals: that end the run once it is saved.
        world: whose processes stop, validate and save together.
    """

    config: TrainingConfig
    writer: Writer
    validate: Callable[[], Mapping[str, float]]
    report: Callable[[Progress, Mapping[str, float]], None]
    limits: Limits
    signals: Signals
    world: World = field(default_factory=World)

    def __call__(self, training: Training, step_report: StepReport) -> str | None:
        """Validate or save if it is due; returns the reason to end, once the checkpoint is written."""
        progress, config = training.progress, self.config
        self.writer.check()
        reason = self.world.agree(self.signals.caught or self.limits.reached(progress))
        if reason in EXIT_CODES:
            self.save(training)
            self.writer.wait()
            return reason
        due = progress.step % config.validate_every == 0
        if reason or due:
            return self._validate_and_save(training, reason, due=due)
        if config.save_every is not None and progress.step % config.save_every == 0:
            self.save(training)
        return None

    def begin(self, training: Training) -> None:
        """Validate and save the weights of another run, which the steps may not improve."""
        training.start_clock()
        self.save(training, best=self._validate(training))

    def conclude(self, training: Training) -> str | None:
        """Validate and save a run that was interrupted where it is due; ``None`` if it has steps left."""
        progress = training.progress
        reason = self.limits.end(self.world.agree(self.limits.reached(progress)))
        due = progress.step % self.config.validate_every == 0 and progress.validated < progress.step
        if progress.step == 0 or not (reason or due):  # however short its time, a run takes a step
            return None
        training.start_clock()
        return self._validate_and_save(training, reason, due=due)

    def _validate_and_save(self, training: Training, reason: str | None, *, due: bool) -> str | None:
        """Returns the reason to end the run: ``reason``, patience, or a signal that came meanwhile.

        Where the time of this process alone is up, its successor goes on as if nothing had been validated.
        """
        progress, before = training.progress, replace(training.progress)
        due = due or self.limits.end(reason) is not None
        improved = self._validate(training, due=due)
        if self.config.patience is not None and training.progress.waited >= self.config.patience:
            reason = PATIENCE
        if not due:
            training.progress = replace(progress, best=before.best, best_step=before.best_step)
        self.save(training, best=improved, finished=self.limits.end(reason))
        training.progress = progress
        reason = self.world.agree(self.signals.caught) or reason
        if reason:
            self.writer.wait()
        return reason

    def _validate(self, training: Training, *, due: bool = True) -> bool:
        """Score the model; returns whether it is the best so far (always, without a validation split).

        Args:
            training: whose patience and schedule see a validation that is due.
            due: whether it is.
        """
        progress, average = training.progress, training.update.average
        began = time.monotonic()
        with average.applied() if average else nullcontext():
            scores = dict(self.validate())
        progress.validation_seconds += time.monotonic() - began
        training.count_time()
        if due:
            progress.validated = progress.step
        if not scores:
            progress.best_step = progress.step
            return True
        metric, keep = self.config.best_metric, self.config.keep_best
        nat = BLEU_OF_A_NAT if metric == "bleu" else 0.0
        improved = progress.rank(*goodness(scores, metric), keep=keep, nat=nat)
        if due:
            progress.waited = 0 if improved else progress.waited + 1
            training.schedules.validated(improved=improved)
        self.report(progress, scores)
        return improved

    def save(self, training: Training, *, best: bool = False, finished: str | None = None) -> None:
        """Write a checkpoint of the present state beside the training.

        All processes take part; the main process writes the tensors that all of them hold.
        """
        training.progress.finished = finished
        training.progress.elapsed = self.limits.elapsed()
        update = training.update
        weights = model_tensors(update.model)
        if update.average is not None:
            weights |= update.average.named_weights(update.model)
        complete = {}
        for name, tensor in weights.items():
            gathered = whole(tensor)
            if self.world.is_main:
                complete[name] = gathered
        self.writer.wait()  # shards of all checkpoints pass through the same folder
        state, shards = write_shards(self.writer.directory, training.state_dict(), self.world)
        if self.world.is_main:
            self.writer.submit(
                training.progress.step,
                complete,
                state,
                best=best,
                keep_last=self.config.keep_last,
                keep_steps=tuple(step for *_, step in training.progress.best),
                shards=shards,
            )


def goodness(scores: Mapping[str, float], metric: str) -> tuple[float, float]:
    """The score by ``metric``, larger is better, and the log-likelihood, which decides between equals.

    A BLEU below 1 is chance, and counts as 0.
    """
    value = -scores[metric] if metric in LOWER_IS_BETTER else scores[metric]
    return 0.0 if metric == "bleu" and value < 1 else value, -scores["nll"]
