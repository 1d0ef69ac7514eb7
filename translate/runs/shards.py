"""Checkpoints of a model that is spread over processes (FSDP), readable by any other number of processes.

The state of a run is nested dictionaries and lists. A tensor in parts is an empty one in ``state.pt``; all
processes write its parts with ``torch.distributed.checkpoint``, as safetensors, since reading the default
format would run code of the file.
"""

import shutil
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from translate.config.names import shorten
from translate.errors import UserError
from translate.runs.checkpoint import SHARDS, map_tensors
from translate.runs.run_directory import last_checkpoint
from translate.text.file_writing import PREFIX
from translate.training.parallel import World, is_spread
from translate.training.update import Update
from translate.training.weights import model_tensors


def write_shards(
    directory: Path, state: Mapping[str, Any], world: World
) -> tuple[Mapping[str, Any], Path | None]:
    """Write the tensors in parts; returns the state without them, and their folder.

    Args:
        directory: ``checkpoints`` of a run, visible to all processes.
        state: of the run; its whole tensors are the same in all processes.
        world: all of its processes must call this.
    Raises:
        UserError: in all processes if one cannot write, as on a full disk.
    """
    parts: dict[str, Tensor] = {}

    def cut(name: str, tensor: Tensor) -> Tensor:
        if not is_spread(tensor):
            return tensor
        parts[name] = tensor
        return torch.empty(tensor.shape, dtype=tensor.dtype, device="meta")

    rest = map_tensors(state, cut)
    if not parts:
        return rest, None
    import torch.distributed.checkpoint as dcp  # a second, for which a single process does not wait
    from torch.distributed.checkpoint.api import CheckpointException
    from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageWriter

    def make() -> Path:
        directory.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=directory))
        shutil.copymode(directory, folder)  # it becomes a part of the checkpoint, for whoever may read that
        return folder

    folder = world.from_main(make)
    try:
        dcp.save(parts, storage_writer=HuggingFaceStorageWriter(str(folder), save_distributed=True))
    except CheckpointException as error:
        if world.is_main:
            shutil.rmtree(folder, ignore_errors=True)
        reason = shorten(next(iter(error.failures.values()))[0])
        raise UserError(f"{directory}: cannot be written ({reason}); {last_checkpoint(directory)}") from error
    return rest, folder


def read_shards(folder: Path, state: dict[str, Any], update: Update) -> dict[str, Any]:
    """The state with the tensors that :func:`write_shards` took out, in the parts of this process.

    Args:
        folder: of the checkpoint.
        state: of the checkpoint; another number of processes may have written it.
        update: whose tensors the state belongs to.
    """
    mesh = next((p.device_mesh for p in update.parameters if is_spread(p)), None)
    missing: dict[str, Tensor] = {}

    def make(name: str, tensor: Tensor) -> Tensor:
        if not tensor.is_meta:
            return tensor
        if mesh is None:
            missing[name] = torch.empty(tensor.shape, dtype=tensor.dtype)
        else:
            from torch.distributed.tensor import Shard, empty

            missing[name] = empty(*tensor.shape, dtype=tensor.dtype, device_mesh=mesh, placements=[Shard(0)])
        return missing[name]

    state = map_tensors(state, make)
    if missing:
        import torch.distributed.checkpoint as dcp
        from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader

        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "torch.distributed is .* uninitialized")  # one process can
                dcp.load(missing, storage_reader=HuggingFaceStorageReader(str(folder / SHARDS)))
        except Exception as error:  # many types, for a missing or damaged file
            reason = str(error).strip().splitlines()[-1]
            raise UserError(f"{folder / SHARDS}: the checkpoint is damaged ({reason})") from error
    if mesh is not None:
        _distribute(state, update)
    return state


def _distribute(state: dict[str, Any], update: Update) -> None:
    """Keep the part of each whole tensor that matches this process's part of its parameter."""
    for name, tensor in model_tensors(update.model).items():
        if name in state["model"]:  # otherwise the difference is about to be reported
            state["model"][name] = _like(state["model"][name], tensor)
    if update.average is not None:
        pairs = zip(state["average"], update.average.weights, strict=True)
        state["average"] = [_like(tensor, own) for tensor, own in pairs]
    parameters = [parameter for group in update.optimizer.param_groups for parameter in group["params"]]
    for index, values in state["optimizer"]["state"].items():
        for name, value in values.items():
            if isinstance(value, Tensor):
                values[name] = _like(value, parameters[index])


def _like(tensor: Tensor, own: Tensor) -> Tensor:
    if is_spread(tensor) or not is_spread(own) or tensor.shape != own.shape:
        return tensor
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(tensor.to(own.device), own.device_mesh, own.placements, src_data_rank=None)
