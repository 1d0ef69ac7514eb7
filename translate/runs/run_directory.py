"""A run's folder: its layout, and when it may be replaced; none of this needs torch."""

import json
import os
import re
import shlex
import shutil
from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from translate.config.names import did_you_mean, listed, nearest
from translate.errors import UserError
from translate.text.file_writing import PREFIX, explain_write_errors, is_left_over, scratch, write_text
from translate.text.folder_lock import LOCK

CONFIG = "config.yaml"
IN_USE = "{} works in this run; wait for it, or use another run"
SETTINGS = "experiment"  # a folder in conf/, which has a file CONFIG, too
MOST_NEIGHBOURS = 1000  # folders among which a similar name is looked for


class RunDirectory:
    """The files of a run.

    Args:
        path: of the folder, which need not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config = path / CONFIG
        self.tokenizer = path / "tokenizer"
        self.checkpoints = path / "checkpoints"
        self.last = self.checkpoints / "last"
        self.metrics = path / "metrics.jsonl"
        self.alignment = path / "alignment.json"
        self.scores = path / "scores.json"
        self.training_pairs = path / "training_pairs.bin"
        self.tensorboard = path / "tensorboard"
        self.plots = path / "plots"
        self.card = path / "README.md"

    def best(self) -> Path:
        """The best checkpoint, or the last one of a run that has not been validated."""
        best = self.checkpoints / "best"
        return best if best.exists() else self.last

    def has_checkpoint(self) -> bool:
        """Whether there is a checkpoint to resume from, possibly a damaged one."""
        return bool(step_folders(self.checkpoints))

    def written(self) -> int | None:
        """When the run was started or last resumed, in nanoseconds; ``None`` if there is none."""
        return self.config.stat().st_mtime_ns if self.config.exists() else None

    def resume_command(self) -> str:
        """The command that goes on with the run."""
        return f"translate resume {shlex.quote(str(self.path))}"

    def fine_tune_command(self) -> str:
        """The command that trains another run from this one."""
        return f"translate train training.start_from={shlex.quote(str(self.path))}"

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
        found = list(self.path.iterdir()) if self.path.is_dir() else []
        # A process that is killed before its run has started leaves its lock and temporary folders.
        found = [path for path in found if path.name != LOCK and not is_left_over(path)]
        if not found:
            return
        if not self._holds_run():
            raise UserError(f"{self.path}: the folder is not empty and holds no run; choose another run.name")
        if not overwrite and self._has_results():
            raise UserError(
                f"{self.path}: there is a run of this name already; choose another run.name, replace it "
                f"(run.overwrite=true), or continue: {self.resume_command()} (a sweep: training.resume=true)"
            )
        foreign = sorted(path.name for path in found if path not in self._own())
        if foreign:
            raise UserError(
                f"{self.path}: the folder holds {foreign[0]}, which is not its own and would be "
                "lost; move it elsewhere, or choose another run.name"
            )

    def _own(self) -> list[Path]:
        """Everything that a run writes, ``config.yaml`` first."""
        return [path for path in vars(self).values() if path not in (self.path, self.last)]

    def _holds_run(self) -> bool:
        """Whether ``config.yaml`` is that of a run; other programs have files of that name, too."""
        import yaml  # type: ignore[import-untyped] # commands that only look for a run do not wait for it

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
        with explain_write_errors(self.path):
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
        """The lines of ``metrics.jsonl``, without those that a kill cut short or that no run wrote."""
        found = []
        for line in self.metrics.read_bytes().split(b"\n") if self.metrics.exists() else ():
            with suppress(ValueError, RecursionError):
                row = json.loads(line)
                if isinstance(row, dict) and type(row.get("step")) is int and "kind" in row:
                    found.append(row)
        return found

    def go_back_to(self, step: int, best_step: int) -> None:
        """Cut the metrics after ``step``, which a resumed run writes again; point ``last``, ``best`` back.

        If the best checkpoint has gone, ``step`` takes its place, for a later one is no part of the run.
        """
        self.tidy()
        if self.metrics.exists():
            kept = "".join(json.dumps(row) + "\n" for row in self.rows() if row["step"] <= step)
            write_text(self.metrics, kept)
        for name, number in (("last", step), ("best", best_step)):
            folder = step_folder(self.checkpoints, number)
            if not folder.is_dir() and (self.checkpoints / name).is_symlink():
                folder = step_folder(self.checkpoints, step)
            if folder.is_dir():
                point(self.checkpoints, name, folder.name)


def check_is_run(path: Path, setting: str = "") -> None:
    """Raise :class:`UserError` if ``path`` is no run directory; opens no file.

    Args:
        path: of the run.
        setting: whose value it is, such as ``training.start_from=``.
    """
    inside = Path("runs", path)
    near = str(inside) if is_run(inside) else None if path.exists() else _neighbour(path)
    hint = did_you_mean(near) or _runs_near(path)
    if len(path.parts) == 2 and path.parts[0] != "runs" and not path.parent.exists():
        hint += f"; a model of the Hugging Face hub becomes a run by: translate import {path} --out DIR"
    if not path.is_dir():
        kind = "a file, not a run directory" if path.exists() else "no such run directory"
        first = "; the run comes first, then what is translated" if " " in path.name or path.is_file() else ""
        raise UserError(f"{setting}{path}: {kind}{first}{hint}")
    settings = (path / SETTINGS).is_dir()
    # Whoever reads a configuration that is there says what is wrong with it.
    if settings or not os.path.lexists(path / CONFIG):
        if (path / "config.json").exists() or (path / "model.json").exists():  # an export
            hint = "; it is a model for other programs; give the run that it was made from"
        why = "it holds the settings of runs" if settings else f"it has no {CONFIG}"
        raise UserError(f"{setting}{path}: not a run directory ({why}){hint}")


def is_run(path: Path) -> bool:
    """Whether ``path`` is a folder with the configuration of a run."""
    with suppress(OSError, ValueError):  # longer than a name can be, or with a null character
        return (path / CONFIG).is_file() and not (path / SETTINGS).is_dir()
    return False


def _neighbour(path: Path) -> str | None:
    """The run beside a missing one whose name is most like its own."""
    with suppress(OSError):
        beside = islice(path.parent.iterdir(), MOST_NEIGHBOURS)
        near = nearest(path.name, [folder.name for folder in beside if is_run(folder)])
        return None if near is None else str(path.parent / near)
    return None


def _runs_near(path: Path) -> str:
    """The run that a path is in, or the runs in, or beside it, or in ``runs``, as the end of a message."""
    for parent in path.parents:
        if is_run(parent):
            return f"; the run is {parent}"
    for folder in (path, path.parent, Path("runs")):
        with suppress(OSError):
            runs = sorted(str(run) for run in islice(folder.iterdir(), MOST_NEIGHBOURS) if is_run(run))
            if runs:
                return f"; there {'is' if len(runs) == 1 else 'are'} {listed(runs)}"
    return ""


def step_folder(directory: Path, step: int) -> Path:
    """The folder of the checkpoint of a step."""
    return directory / f"step-{step:08d}"


def step_folders(directory: Path) -> list[Path]:
    """The checkpoints below ``directory``, oldest first."""
    found = directory.iterdir() if directory.is_dir() else []
    return sorted(path for path in found if re.fullmatch(r"step-\d+", path.name))


def last_checkpoint(directory: Path) -> str:
    """The last checkpoint of a run that broke off, as part of a sentence."""
    saved = step_folders(directory)
    return f"the last checkpoint is {saved[-1]}" if saved else "there is no checkpoint yet, so it begins anew"


def point(directory: Path, name: str, folder: str) -> None:
    """Make ``name`` a relative link to the checkpoint ``folder``, atomically."""
    with scratch(directory) as temporary:
        link = temporary / name
        link.symlink_to(folder)
        link.replace(directory / name)
