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
from torch import Tensor, nn

from translate.errors import UserError

WEIGHTS = "model.safetensors"
STATE = "state.pt"
SHARDS = "shards"  # a folder: what several processes wrote, each its part; see shards.py
ASIDE = ".writing-"


def model_tensors(model: nn.Module) -> dict[str, Tensor]:
    """What a checkpoint holds of a model: its parameters, shared ones once, and its persistent buffers."""
    parameters = dict(model.named_parameters())
    every_name = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    buffers = {name: tensor for name, tensor in model.state_dict().items() if name not in every_name}
    return {name: tensor.detach() for name, tensor in (parameters | buffers).items()}


def save_checkpoint(
    directory: Path,
    step: int,
    weights: Mapping[str, Tensor],
    state: Mapping[str, Any],
    *,
    best: bool,
    keep_last: int,
    shards: Path | None = None,
) -> Path:
    """Write ``step-N``, point ``last`` (and ``best``) to it, and drop older ones that nothing points to.

    Args:
        directory: ``checkpoints`` of a run.
        step: optimizer steps so far.
        weights: what translates.
        state: what resuming needs beside them.
        best: whether it is the best so far.
        keep_last: how many to keep beside ``best``.
        shards: a folder in ``directory`` that becomes part of the checkpoint.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for left_over in directory.glob(f"{ASIDE}*"):  # of a process that was killed
        shutil.rmtree(left_over)
    folder = directory / f"step-{step:08d}"
    aside = directory / f"{ASIDE}{folder.name}"
    aside.mkdir()
    save_file({name: tensor.detach().contiguous().cpu() for name, tensor in weights.items()}, aside / WEIGHTS)
    torch.save(dict(state), aside / STATE)
    if shards is not None:
        shards.rename(aside / SHARDS)
    for path in (*aside.iterdir(), aside):
        _sync(path)
    if folder.exists():
        shutil.rmtree(folder)
    aside.rename(folder)
    _point(directory, "last", folder)
    if best:
        _point(directory, "best", folder)
    _sync(directory)
    _prune(directory, keep_last)
    return folder


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _point(directory: Path, name: str, folder: Path) -> None:
    """Make ``name`` a relative link to ``folder``, at once."""
    link = directory / f".{name}-link"
    link.unlink(missing_ok=True)
    link.symlink_to(folder.name)
    link.replace(directory / name)


def _prune(directory: Path, keep_last: int) -> None:
    kept = {(directory / name).resolve() for name in ("last", "best")}
    for path in step_folders(directory)[:-keep_last]:
        if path.resolve() not in kept:
            shutil.rmtree(path)


def step_folders(directory: Path) -> list[Path]:
    """The checkpoints below ``directory``, oldest first."""
    found = directory.iterdir() if directory.is_dir() else []
    return sorted(path for path in found if re.fullmatch(r"step-\d+", path.name))


def load_weights(folder: Path) -> dict[str, Tensor]:
    """The weights of a checkpoint; raises :class:`UserError` if they are missing or cut short."""
    path = folder / WEIGHTS
    try:
        return load_file(path)
    except FileNotFoundError as error:
        hint = _others(folder) or "; has the run been trained?"
        raise UserError(f"{path}: no such checkpoint{hint}") from error
    except (SafetensorError, OSError) as error:
        raise UserError(
            f"{path}: the checkpoint is damaged or cut short ({error}){_others(folder)}"
        ) from error


def load_state(folder: Path) -> dict[str, Any]:
    """What :func:`save_checkpoint` kept for resuming; no code of the file is run."""
    path = folder / STATE
    try:
        return dict(torch.load(path, map_location="cpu", weights_only=True))
    except FileNotFoundError as error:
        raise UserError(f"{path}: the state to resume from is missing{_others(folder)}") from error
    except Exception as error:  # torch raises many kinds for a damaged file
        raise UserError(f"{path}: the checkpoint is damaged or cut short{_others(folder)}") from error


def _others(folder: Path) -> str:
    """A hint at the newest of the other checkpoints."""
    damaged = folder.resolve()
    others = [path for path in step_folders(folder.parent) if path.resolve() != damaged]
    if not others:
        return ""
    return f"; there is also {others[-1]} (let the link {folder} point to {others[-1].name} to use it)"
