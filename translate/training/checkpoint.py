"""Checkpoints: folders written aside, then renamed, so that a half-written one never has a name."""

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from translate.errors import UserError

WEIGHTS = "model.safetensors"
STATE = "state.pt"


def save_checkpoint(
    directory: Path, step: int, weights: Mapping[str, Tensor], state: Mapping[str, Any], *, keep_last: int
) -> Path:
    """Write ``step-N``, point ``last`` to it and drop older ones that nothing points to.

    Args:
        directory: ``checkpoints`` of a run.
        step: optimizer steps so far.
        weights: what translates; tensors that share memory are written once.
        state: what resuming needs beside them.
        keep_last: how many to keep beside ``best``.
    """
    directory.mkdir(parents=True, exist_ok=True)
    folder = directory / f"step-{step:08d}"
    aside = directory / f".writing-{folder.name}"
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    save_file({name: tensor.detach().contiguous().cpu() for name, tensor in weights.items()}, aside / WEIGHTS)
    torch.save(dict(state), aside / STATE)
    for path in aside.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())
    shutil.rmtree(folder, ignore_errors=True)
    aside.rename(folder)
    point(directory, "last", folder)
    _prune(directory, keep_last)
    return folder


def point(directory: Path, name: str, folder: Path) -> None:
    """Make ``name`` a relative link to ``folder``, at once."""
    link = directory / f".{name}-link"
    link.unlink(missing_ok=True)
    link.symlink_to(folder.name)
    link.replace(directory / name)


def _prune(directory: Path, keep_last: int) -> None:
    kept = {(directory / name).resolve() for name in ("last", "best") if (directory / name).exists()}
    steps = sorted(path for path in directory.iterdir() if re.fullmatch(r"step-\d+", path.name))
    for path in steps[: -max(1, keep_last)]:
        if path.resolve() not in kept:
            shutil.rmtree(path)


def load_weights(folder: Path) -> dict[str, Tensor]:
    """The weights of a checkpoint; raises :class:`UserError` if they are missing or cut short."""
    path = folder / WEIGHTS
    try:
        return load_file(path)
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such checkpoint; has the run been trained?") from error
    except (SafetensorError, OSError) as error:
        raise UserError(f"{path}: the checkpoint is damaged or cut short ({error}){_others(folder)}") from error


def load_state(folder: Path) -> dict[str, Any]:
    """What :func:`save_checkpoint` kept for resuming; no code of the file is run."""
    path = folder / STATE
    try:
        return dict(torch.load(path, map_location="cpu", weights_only=True))
    except FileNotFoundError as error:
        raise UserError(f"{path}: the state for resuming is missing") from error
    except Exception as error:  # torch raises many kinds for a damaged file
        raise UserError(f"{path}: the checkpoint is damaged or cut short{_others(folder)}") from error


def _others(folder: Path) -> str:
    directory = folder.parent
    damaged = folder.resolve().name
    others = sorted(path.name for path in directory.glob("step-*") if path.name != damaged)
    return f"; there is also {directory / others[-1]}" if others else ""
