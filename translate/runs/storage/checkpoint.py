"""Checkpoints: folders written aside, synced, then renamed, so that none is ever half-written."""

import hashlib
import os
import re
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from translate.config.names import shorten
from translate.errors import UserError
from translate.runs.storage.weights_file import Stored, read_header
from translate.text.aside import is_left_over, scratch, sync
from translate.text.bounded import check_regular, read_bounded

WEIGHTS = "model.safetensors"
STATE = "state.pt"
SHARDS = "shards"  # a folder: tensors that several processes wrote in parts; see shards.py
CHECKSUMS = "SHA256SUMS"  # in the format of `sha256sum --check`
BEFORE = "before"  # in the temporary folder: the checkpoint of the same step that is being replaced


def save_checkpoint(
    directory: Path,
    step: int,
    weights: Mapping[str, Tensor],
    state: Mapping[str, Any],
    *,
    best: bool,
    keep_last: int,
    keep_steps: Collection[int] = (),
    shards: Path | None = None,
) -> Path:
    """Write ``step-N``, point ``last`` (and ``best``) to it, and remove checkpoints that are not kept.

    If anything fails, the earlier checkpoints stay, and the half-written one is removed. After a kill,
    :func:`recover` brings a checkpoint back that was about to be replaced.

    Args:
        directory: ``checkpoints`` of a run.
        step: optimizer steps so far.
        weights: of the model that translates.
        state: everything that resuming needs.
        best: whether it is the best so far.
        keep_last: how many to keep beside the best ones.
        keep_steps: steps of the best ones, which are kept, too.
        shards: a folder in ``directory`` that becomes part of the checkpoint.
    """
    directory.mkdir(parents=True, exist_ok=True)
    folder = step_folder(directory, step)
    try:
        with scratch(directory) as temporary:
            aside = temporary / folder.name
            aside.mkdir()
            copies = {name: tensor.detach().contiguous().cpu() for name, tensor in weights.items()}
            save_weights(copies, aside / WEIGHTS)
            _save_state(state, aside / STATE)
            if shards is not None:
                shards.rename(aside / SHARDS)
            sums = [f"{_checksum(path)}  {path.relative_to(aside).as_posix()}\n" for path in _files(aside)]
            (aside / CHECKSUMS).write_text("".join(sums), encoding="utf-8")
            for path in (*aside.rglob("*"), aside):
                sync(path)
            if folder.exists():
                (temporary / BEFORE).mkdir()
                folder.rename(temporary / BEFORE / folder.name)
            aside.rename(folder)
    finally:
        if shards is not None:
            shutil.rmtree(shards, ignore_errors=True)  # it is still there if anything has failed
    point(directory, "last", folder.name)
    if best:
        point(directory, "best", folder.name)
    sync(directory)
    _prune(directory, step, keep_last, keep_steps)
    return folder


def recover(directory: Path) -> None:
    """Bring back each checkpoint that a killed process had moved away, but not yet replaced."""
    for left_over in filter(is_left_over, directory.iterdir() if directory.is_dir() else ()):
        for moved in step_folders(left_over / BEFORE):
            if not (directory / moved.name).exists():
                moved.rename(directory / moved.name)


def step_folder(directory: Path, step: int) -> Path:
    """The folder of the checkpoint of a step."""
    return directory / f"step-{step:08d}"


def _files(folder: Path) -> list[Path]:
    """The files of a checkpoint; the first two are in every one."""
    return [folder / WEIGHTS, folder / STATE, *sorted((folder / SHARDS).glob("*"))]


def save_weights(weights: Mapping[str, Tensor], path: Path, metadata: dict[str, str] | None = None) -> None:
    """Write a file of safetensors; raises ``OSError`` as other writes do, not an error of its library."""
    try:
        save_file(dict(weights), path, metadata)
    except SafetensorError as error:
        number = re.search(r"\(os error (\d+)\)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1])), str(path)) from error


def _save_state(state: Mapping[str, Any], path: Path) -> None:
    try:
        with path.open("wb") as file:
            torch.save(dict(state), file)
    except RuntimeError as error:  # torch's own, while it closes a file that could not be written
        if isinstance(error.__context__, OSError):
            raise error.__context__ from error
        raise


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def point(directory: Path, name: str, folder: str) -> None:
    """Make ``name`` a relative link to the checkpoint ``folder``, atomically."""
    with scratch(directory) as temporary:
        link = temporary / name
        link.symlink_to(folder)
        link.replace(directory / name)


def _prune(directory: Path, step: int, keep_last: int, keep_steps: Collection[int]) -> None:
    """Remove old checkpoints, and those after ``step``, behind which the run went back."""
    kept = {(directory / name).resolve() for name in ("last", "best")}
    kept |= {step_folder(directory, kept_step).resolve() for kept_step in keep_steps}
    newest = step_folder(directory, step).name
    folders = step_folders(directory)
    until_now = [path for path in folders if path.name <= newest]
    kept |= {path.resolve() for path in until_now[-keep_last:]}
    outdated = [path for path in folders if path.resolve() not in kept]
    if outdated:
        with scratch(directory) as temporary:
            for path in outdated:
                path.rename(temporary / path.name)  # none of them is ever half there


def step_folders(directory: Path) -> list[Path]:
    """The checkpoints below ``directory``, oldest first."""
    found = directory.iterdir() if directory.is_dir() else []
    return sorted(path for path in found if re.fullmatch(r"step-\d+", path.name))


def load_weights(folder: Path) -> dict[str, Tensor]:
    """The weights of a checkpoint; raises :class:`UserError` if they are missing or damaged."""
    stored_weights(folder)
    with _described(folder):
        weights = load_file(folder / WEIGHTS)
    _verify(folder / WEIGHTS)
    return weights


def stored_weights(folder: Path) -> dict[str, Stored]:
    """Shapes and types of the weights of a checkpoint, which are not read; errors as of the weights."""
    with _described(folder):
        return read_header(folder / WEIGHTS)


@contextmanager
def _described(folder: Path) -> Iterator[None]:
    """Turn what reading the weights raises into a :class:`UserError`."""
    path = folder / WEIGHTS
    try:
        yield
    except FileNotFoundError as error:
        hint = _others(folder) or "; has the run been trained?"
        raise UserError(f"{path}: no such checkpoint{hint}") from error
    except (SafetensorError, OSError, MemoryError) as error:
        raise UserError(
            f"{path}: the checkpoint is damaged or cut short ({shorten(error)}){_others(folder)}"
        ) from error


def load_state(folder: Path) -> dict[str, Any]:
    """The state for resuming that :func:`save_checkpoint` wrote; no code of the file is run.

    Raises :class:`UserError` if it, or the weights beside it, are missing or damaged.
    """
    path = folder / STATE
    try:
        check_regular(path, root=folder.parent.parent)
        state = dict(torch.load(path, map_location="cpu", weights_only=True))
    except FileNotFoundError as error:
        raise UserError(f"{path}: the state to resume from is missing{_others(folder)}") from error
    except UserError:
        raise
    except Exception as error:  # torch raises many types for a damaged file
        raise UserError(f"{path}: the checkpoint is damaged or cut short{_others(folder)}") from error
    for file in _files(folder):
        _verify(file)
    return state


def _verify(path: Path) -> None:
    """Raise :class:`UserError` if a file has changed since it was written; without sums it is trusted."""
    folder = path.parents[1] if path.parent.name == SHARDS else path.parent
    root = folder.parent.parent
    try:
        lines = read_bounded(folder / CHECKSUMS, root=root).decode("utf-8").splitlines()
        check_regular(path, root=root)
        sums = {name: checksum for checksum, name in (line.split("  ", 1) for line in lines)}
        intact = sums.get(path.relative_to(folder).as_posix()) == _checksum(path)
    except FileNotFoundError:
        intact = path.exists() and not (folder / CHECKSUMS).exists()
    except UserError:  # a special file
        raise
    except (OSError, ValueError):
        intact = False
    if not intact:
        raise UserError(
            f"{path}: the checkpoint is damaged or cut short (not the file that was written){_others(folder)}"
        )


def _others(folder: Path) -> str:
    """A hint at the newest of the other checkpoints."""
    damaged = folder.resolve()
    others = [path for path in step_folders(folder.parent) if path.resolve() != damaged]
    before = [path for path in others if path.name < damaged.name] or others
    if not before:
        return ""
    name = before[-1].name
    return (
        f"; there is also {before[-1]} (training.resume=true training.resume_from={name} goes on from there)"
    )
