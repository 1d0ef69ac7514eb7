"""The report of a run in progress: terminal, ``metrics.jsonl`` and boards."""

from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any, Protocol

from translate.config.settings import Settings
from translate.runs.reports.boards import Board, TensorBoard, WeightsAndBiases
from translate.runs.reports.progress_line import ProgressLine, score_line
from translate.runs.reports.samples import Shown, show
from translate.runs.storage.run_directory import RunDirectory
from translate.training.loop import Training
from translate.training.progress import Limits, Progress, StepReport


class Closable(Protocol):
    def close(self) -> None: ...


class Reporter:
    """Reports steps and validations, in the main process.

    Args:
        settings: of the run.
        directory: of the run.
        line: on the terminal.
        limits: of the run, whose last step is always logged.
        validation: whose samples are shown.
        start: the step at which this process begins.
        writes: whether this is the main process.
    """

    def __init__(
        self,
        settings: Settings,
        directory: RunDirectory,
        line: ProgressLine,
        limits: Limits,
        validation: Shown,
        *,
        start: int,
        writes: bool = True,
    ) -> None:
        self.settings = settings
        self.directory = directory
        self.line = line
        self.limits = limits
        self.validation = validation
        self.writes = writes
        self.boards = self._boards(start) if writes else []
        self.closes: list[Closable] = [*self.boards]

    def _boards(self, start: int) -> list[Board]:
        purge = start + 1 if start else None
        boards: list[Board] = [TensorBoard(self.directory.tensorboard, purge_step=purge)]
        project = self.settings.training.wandb
        if project is not None:
            name, config = self.settings.run.name, sections(self.settings)
            boards.append(WeightsAndBiases(project, name, config, self.directory.wandb))
        return boards

    def log(self, training: Training, report: StepReport) -> None:
        """Log a step if it is due, and its notes; a hook of the loop."""
        progress = training.progress
        for note in report.notes:
            self.line.note(note)
            self._log({"kind": "note", "step": progress.step, "note": note})
        if progress.step % self.settings.training.log_every == 0 or self.limits.reached(progress):
            means = training.window.means(progress.training_seconds)
            self._write("train", progress, means | {"learning_rate": report.learning_rate})
            training.window.restart(progress.training_seconds)

    def report(self, progress: Progress, scores: Mapping[str, float]) -> None:
        """Report the scores and samples of a validation."""
        self.line.note(score_line(progress.step, scores))
        self._write("validation", progress, scores)
        for board in self.boards:
            show(board, self.validation.samples, self.validation.alignment, progress.step)

    def _write(self, kind: str, progress: Progress, values: Mapping[str, float]) -> None:
        row = {"kind": kind, "step": progress.step, "seconds": round(progress.seconds, 3), **values}
        self._log(row)
        for board in self.boards:
            board.scalars(kind, values, progress.step)

    def _log(self, row: Mapping[str, Any]) -> None:
        if self.writes:
            self.directory.log(row)

    def close(self) -> None:
        for closable in reversed(self.closes):
            closable.close()


def sections(settings: Settings) -> dict[str, object]:
    """The sections of the configuration as plain values."""
    return {name: _plain(value) for name, value in vars(settings).items()}


def _plain(value: object) -> object:
    return {name: _plain(item) for name, item in vars(value).items()} if is_dataclass(value) else value
