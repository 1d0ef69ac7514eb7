"""A run's folder: self-contained and readable."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from translate.errors import UserError


@dataclass(frozen=True)
class RunDirectory:
    """Where a run keeps what it makes."""

    path: Path

    @property
    def config(self) -> Path:
        return self.path / "config.yaml"

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
    def plots(self) -> Path:
        return self.path / "plots"

    @property
    def card(self) -> Path:
        return self.path / "README.md"

    @property
    def last(self) -> Path:
        return self.checkpoints / "last"

    def has_checkpoint(self) -> bool:
        """Whether there is something to resume from."""
        return (self.last / "state.pt").exists()

    def check_free(self, *, overwrite: bool) -> None:
        """Raise :class:`UserError` if the folder holds something that must not be harmed."""
        if self.path.exists() and not self.path.is_dir():
            raise UserError(f"{self.path}: expected a folder, or nothing; there is a file of that name")
        if not self.path.is_dir() or not any(self.path.iterdir()):
            return
        if not self.config.exists():
            raise UserError(f"{self.path}: the folder is not empty and holds no run; choose another run.name")
        if not overwrite:
            raise UserError(
                f"{self.path}: there is a run of this name already; choose another run.name, continue it with "
                "training.resume=true, or replace it with run.overwrite=true"
            )

    def clear(self) -> None:
        """Start with an empty folder; call :meth:`check_free` first."""
        if self.path.is_dir():
            shutil.rmtree(self.path)
        self.path.mkdir(parents=True)

    def log(self, row: Mapping[str, Any]) -> None:
        """Append a line to ``metrics.jsonl``."""
        with self.metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def rows(self) -> list[dict[str, Any]]:
        """The lines of ``metrics.jsonl``; a last one that was cut short is left out."""
        if not self.metrics.exists():
            return []
        rows = []
        for line in self.metrics.read_text(encoding="utf-8").split("\n"):
            try:
                rows.append(json.loads(line))
            except ValueError:
                continue
        return rows

    def cut_metrics(self, step: int) -> None:
        """Forget what was logged after ``step``: a resumed run goes through it again."""
        kept = [row for row in self.rows() if row["step"] <= step]
        self.metrics.write_text("".join(json.dumps(row) + "\n" for row in kept), encoding="utf-8")
