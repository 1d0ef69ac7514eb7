"""The layout of a run's folder, and when it may be replaced."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from translate.errors import UserError
from translate.runs.storage.checkpoint import point, step_folder, step_folders
from translate.runs.storage.lock import LOCK
from translate.runs.storage.run_path import CONFIG
from translate.text.aside import PREFIX, aside, is_left_over, told, write_text


@dataclass(frozen=True)
class RunDirectory:
    """The files of a run."""

    path: Path

    @property
    def config(self) -> Path:
        return self.path / CONFIG

    @property
    def tokenizer(self) -> Path:
        return self.path / "tokenizer"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def metrics(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def alignment(self) -> Path:
        return self.path / "alignment.json"

    @property
    def scores(self) -> Path:
        return self.path / "scores.json"

    @property
    def tensorboard(self) -> Path:
        return self.path / "tensorboard"

    @property
    def wandb(self) -> Path:
        return self.path / "wandb"

    @property
    def trace(self) -> Path:
        return self.path / "profile" / "trace.json"

    @property
    def plots(self) -> Path:
        return self.path / "plots"

    @property
    def card(self) -> Path:
        return self.path / "README.md"

    @property
    def last(self) -> Path:
        return self.checkpoints / "last"

    def has_checkpoint(self) -> bool:
        """Whether there is a checkpoint to resume from, possibly a damaged one."""
        return bool(step_folders(self.checkpoints))

    def is_scored(self, step: int) -> bool:
        """Whether the final scores are those after ``step`` steps."""
        try:
            return bool(json.loads(self.scores.read_text(encoding="utf-8"))["steps"] == step)
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def check_free(self, *, overwrite: bool) -> None:
        """Raise :class:`UserError` if the folder holds something that must not be replaced.

        A run that ended before its first checkpoint may be replaced.

        Args:
            overwrite: whether any run may be replaced; files that no run wrote never are.
        """
        if self.path.exists() and not self.path.is_dir():
            raise UserError(f"{self.path}: expected a folder, or nothing; there is a file of that name")
        if not self.path.is_dir() or not self._begun():
            return
        if not self._holds_run():
            raise UserError(f"{self.path}: the folder is not empty and holds no run; choose another run.name")
        if not overwrite and self._has_results():
            raise UserError(
                f"{self.path}: there is a run of this name already; choose another run.name, continue it "
                "with training.resume=true, or replace it with run.overwrite=true"
            )
        foreign = sorted(
            path.name for path in self._begun() if path.name not in {path.name for path in self._own()}
        )
        if foreign:
            raise UserError(
                f"{self.path}: the folder holds {foreign[0]}, which no run wrote and which would be lost; "
                "move it elsewhere, or choose another run.name"
            )

    def _begun(self) -> list[Path]:
        """Everything in the folder but what a process leaves if it is killed before its run has begun."""
        return [path for path in self.path.iterdir() if path.name != LOCK and not is_left_over(path)]

    def _own(self) -> tuple[Path, ...]:
        """Everything that a run writes."""
        files = (self.config, self.metrics, self.alignment, self.scores, self.card)
        folders = (self.tokenizer, self.checkpoints, self.plots, self.tensorboard, self.wandb)
        return (*files, *folders, self.trace.parent)

    def _holds_run(self) -> bool:
        """Whether ``config.yaml`` is that of a run; other programs have files of that name, too."""
        try:
            values = yaml.safe_load(self.config.read_text(encoding="utf-8"))
        except (OSError, ValueError, yaml.YAMLError):
            return False
        return isinstance(values, dict) and {"data", "model", "training", "run"} <= values.keys()

    def _has_results(self) -> bool:
        """Whether the run has a checkpoint of any name, or scores."""
        found = self.checkpoints.iterdir() if self.checkpoints.is_dir() else ()
        return self.scores.exists() or any(not path.name.startswith(".") for path in found)

    def clear(self) -> None:
        """Empty the folder; call :meth:`check_free` first.

        ``config.yaml``, which marks the folder of a run, goes last: after a kill it can be cleared again.
        """
        with told(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            for path in reversed(self._own()):
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)
            self.tidy()

    def tidy(self) -> None:
        """Remove the temporary folders that killed processes left in the run; call it with the lock held."""
        for path in filter(is_left_over, list(self.path.rglob(f"{PREFIX}*"))):
            shutil.rmtree(path, ignore_errors=True)

    def write_config(self, text: str) -> None:
        """Write ``config.yaml`` in one piece."""
        write_text(self.config, text)

    def log(self, row: Mapping[str, Any]) -> None:
        """Append a line to ``metrics.jsonl``."""
        with self.metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def rows(self) -> list[dict[str, Any]]:
        """The lines of ``metrics.jsonl`` that a run wrote, without one that was cut short."""
        return [row for _, row in self._lines() if row is not None]

    def _lines(self) -> list[tuple[bytes, dict[str, Any] | None]]:
        """The lines of ``metrics.jsonl``, each with its values if a run wrote it."""
        try:
            *lines, _ = self.metrics.read_bytes().split(b"\n")  # a kill cuts the last one short
        except FileNotFoundError:
            return []
        return [(line, _row(line)) for line in lines]

    def point_best(self, best_step: int) -> None:
        """Point ``best`` where it pointed at the checkpoint that is resumed; it may point to a later one."""
        folder = step_folder(self.checkpoints, best_step)
        if folder.is_dir():
            point(self.checkpoints, "best", folder.name)

    def cut_metrics(self, step: int) -> int:
        """Remove the lines after ``step``, which a resumed run writes again.

        Returns:
            How many lines no run wrote; they stay.
        """
        lines = self._lines()
        if lines:
            kept = [line for line, row in lines if row is None or row["step"] <= step]
            with aside(self.metrics) as new:
                new.write_bytes(b"".join(line + b"\n" for line in kept))
        return sum(row is None for _, row in lines)


def _row(line: bytes) -> dict[str, Any] | None:
    """The values of a line of the metrics: a step, a kind, and numbers; otherwise ``None``."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict) or type(row.get("step")) is not int:
        return None
    kind = row.setdefault("kind", "")
    values = {name: value for name, value in row.items() if name not in ("kind", "note")}
    numbers = all(type(value) in (int, float) for value in values.values())
    return row if isinstance(kind, str) and numbers else None
