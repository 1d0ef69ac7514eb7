"""The layout of a run's folder, and when it may be replaced."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from translate.errors import UserError
from translate.storage.checkpoint import point, step_folder, step_folders
from translate.storage.lock import LOCK


@dataclass(frozen=True)
class RunDirectory:
    """The files of a run."""

    path: Path

    @property
    def config(self) -> Path:
        return self.path / "config.yaml"

    @property
    def _config_aside(self) -> Path:
        return self.path / "config.yaml.new"

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
    def _metrics_aside(self) -> Path:
        return self.path / "metrics.jsonl.new"

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
        if not self.path.is_dir() or not {path.name for path in self.path.iterdir()} - self._unbegun():
            return
        if not self._holds_run():
            raise UserError(f"{self.path}: the folder is not empty and holds no run; choose another run.name")
        if not overwrite and self._has_results():
            raise UserError(
                f"{self.path}: there is a run of this name already; choose another run.name, continue it "
                "with training.resume=true, or replace it with run.overwrite=true"
            )
        foreign = sorted(
            {path.name for path in self.path.iterdir()}
            - self._unbegun()
            - {path.name for path in self._own()}
        )
        if foreign:
            raise UserError(
                f"{self.path}: the folder holds {foreign[0]}, which no run wrote and which would be lost; "
                "move it elsewhere, or choose another run.name"
            )

    def _unbegun(self) -> set[str]:
        """Files that a process leaves if it is killed before its run has begun."""
        return {LOCK, self._config_aside.name}

    def _own(self) -> tuple[Path, ...]:
        """Everything that a run writes."""
        files = (self.config, self.metrics, self._metrics_aside, self.alignment, self.scores, self.card)
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
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            for path in reversed(self._own()):
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)
        except OSError as error:
            raise UserError(f"{self.path}: cannot be written ({error.strerror})") from error

    def write_config(self, text: str) -> None:
        """Write ``config.yaml`` in one piece."""
        self._config_aside.write_text(text, encoding="utf-8")
        self._config_aside.replace(self.config)

    def log(self, row: Mapping[str, Any]) -> None:
        """Append a line to ``metrics.jsonl``."""
        with self.metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def rows(self) -> list[dict[str, Any]]:
        """The lines of ``metrics.jsonl``, without a last one that was cut short."""
        if not self.metrics.exists():
            return []
        rows = []
        for line in self.metrics.read_text(encoding="utf-8").split("\n"):
            try:
                rows.append(json.loads(line))
            except ValueError:
                continue
        return rows

    def point_best(self, best_step: int) -> None:
        """Point ``best`` where it pointed at the checkpoint that is resumed; it may point to a later one."""
        folder = step_folder(self.checkpoints, best_step)
        if folder.is_dir():
            point(self.checkpoints, "best", folder.name)

    def cut_metrics(self, step: int) -> None:
        """Remove the lines after ``step``, which a resumed run writes again."""
        kept = [row for row in self.rows() if row["step"] <= step]
        aside = self._metrics_aside
        aside.write_text("".join(json.dumps(row) + "\n" for row in kept), encoding="utf-8")
        aside.replace(self.metrics)
