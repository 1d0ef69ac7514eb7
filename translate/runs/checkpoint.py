"""Checkpoints: folders written aside, synced, then renamed, so that none is ever half-written."""

import math
import os
import re
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from translate.config.names import shorten
from translate.errors import UserError
from translate.runs.run_directory import last_checkpoint, point, step_folder, step_folders
from translate.text.bounded import check_regular, checksum, read_bounded
from translate.text.file_writing import is_left_over, not_written, scratch, sync
from translate.training.weights import differing_shapes

WEIGHTS = "model.safetensors"
STATE = "state.pt"
SHARDS = "shards"  # a folder: tensors that several processes wrote in parts; see shards.py
CHECKSUMS = "SHA256SUMS"  # in the format of `sha256sum --check`
BEFORE = "before"  # in the temporary folder: the checkpoint of the same step that is being replaced
MAX_HEADER = 1 << 24  # bytes of a weights file; a layer takes about 2,000
FLOATS = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2}  # bytes of the numbers that weights may be stored in


class Stored(NamedTuple):
    """The type and shape of a tensor, by the header of a weights file."""

    shape: tuple[int, ...]
    dtype: str  # as safetensors names it: F32, BF16, I8 ...


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
            torch.save(dict(state), aside / STATE)
            if shards is not None:
                shards.rename(aside / SHARDS)
            sums = [f"{checksum(path)}  {path.relative_to(aside).as_posix()}\n" for path in _files(aside)]
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


def _files(folder: Path) -> list[Path]:
    """The files of a checkpoint; the first two are in every one."""
    return [folder / WEIGHTS, folder / STATE, *sorted((folder / SHARDS).glob("*"))]


def save_weights(weights: Mapping[str, Tensor], path: Path, metadata: dict[str, str] | None = None) -> None:
    """Write a file of safetensors; raises ``OSError`` as other writes do, not an error of its library."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        save_file(dict(weights), path, metadata)
    except SafetensorError as error:
        number = re.search(r"\(os error (\d+)\)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1])), str(path)) from error


def _prune(directory: Path, step: int, keep_last: int, keep_steps: Collection[int]) -> None:
    """Remove old checkpoints, and those after ``step``, behind which the run went back."""
    folders = step_folders(directory)
    newest = step_folder(directory, step).name
    kept = {(directory / name).resolve().name for name in ("last", "best")}
    kept |= {step_folder(directory, kept_step).name for kept_step in keep_steps}
    kept |= {path.name for path in [path for path in folders if path.name <= newest][-keep_last:]}
    outdated = [path for path in folders if path.name not in kept]
    if outdated:
        with scratch(directory) as temporary:
            for path in outdated:
                path.rename(temporary / path.name)  # none of them is ever half there


def load_weights(folder: Path) -> dict[str, Tensor]:
    """The weights of a checkpoint; raises :class:`UserError` if they are missing or damaged."""
    stored_weights(folder)
    with _described(folder / WEIGHTS):
        weights = load_file(folder / WEIGHTS)
    _verify(folder / WEIGHTS)
    return weights


def map_weight(folder: Path, name: str) -> Tensor:
    """One tensor of the weights that :func:`load_weights` reads, in a mapping of its own.

    Its pages leave memory with the tensor.
    """
    with _described(folder / WEIGHTS), safe_open(folder / WEIGHTS, "pt") as tensors:
        return tensors.get_tensor(name)


def stored_weights(folder: Path) -> dict[str, Stored]:
    """Shapes and types of the weights of a checkpoint, which are not read.

    Raises:
        UserError: if the file is missing, damaged or no regular one inside its run, or if it holds more
            numbers than this machine has memory for.
    """
    path = folder / WEIGHTS
    with _described(path):
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
        if length > MAX_HEADER:
            raise SafetensorError(f"a header of {length:,} bytes")
        with safe_open(path, "pt") as tensors:
            slices = {name: tensors.get_slice(name) for name in tensors.keys()}  # noqa: SIM118 (no mapping)
            found = {name: Stored(tuple(one.get_shape()), one.get_dtype()) for name, one in slices.items()}
    needed = sum(math.prod(one.shape) * FLOATS.get(one.dtype, 1) for one in found.values())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > memory:
        raise UserError(
            f"{path}: the weights need {needed >> 30:,} GiB of memory, and this machine has "
            f"{memory >> 30:,}; load them on a larger one"
        )
    return found


def check_fits(folder: Path, own: Mapping[str, Tensor]) -> None:
    """Raise :class:`UserError` if the weights of a checkpoint are those of another model than ``own``."""
    stored = stored_weights(folder)
    if differing := differing_shapes(own, stored):
        raise UserError(f"{folder}: the checkpoint is of another model ({shorten(differing[0])})")
    for name, tensor in own.items():
        dtype = stored[name].dtype
        if (dtype in FLOATS) != tensor.is_floating_point():
            floats = "floating-point numbers (F32, F16, BF16 or F64)"
            expected = floats if tensor.is_floating_point() else "integers"
            raise UserError(f"{folder}: {name} holds {dtype}, expected {expected}")


@contextmanager
def _described(path: Path) -> Iterator[None]:
    """Check a file of a checkpoint, and turn the errors of reading it into a :class:`UserError`."""
    try:
        check_regular(path, root=path.parent.parent.parent)  # run/checkpoints/best/...
        yield
    except UserError:
        raise
    except FileNotFoundError as error:
        hint = _others(path.parent, "; a run has the first one after its first validation")
        raise UserError(f"{path}: no such file of a checkpoint{hint}") from error
    except Exception as error:  # torch raises many types for a damaged file
        reason = f"the checkpoint is damaged ({shorten(error)})"
        raise UserError(f"{path}: {reason}{_others(path.parent)}") from error


def load_state(folder: Path) -> dict[str, Any]:
    """The state for resuming that :func:`save_checkpoint` wrote; no code of the file is run.

    Raises :class:`UserError` if it, or the weights beside it, are missing or damaged.
    """
    path = folder / STATE
    with _described(path):
        state = dict(torch.load(path, map_location="cpu", weights_only=True))
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
        intact = sums.get(path.relative_to(folder).as_posix()) == checksum(path)
    except FileNotFoundError:
        intact = path.exists() and not (folder / CHECKSUMS).exists()
    except UserError:  # a special file
        raise
    except (OSError, ValueError):
        intact = False
    if not intact:
        raise UserError(f"{path}: the checkpoint is damaged (not the file that was written){_others(folder)}")


def _others(folder: Path, none: str = "; the run has no other: copy it again, or train it again") -> str:
    """A hint at the newest of the other checkpoints, or ``none``."""
    damaged = folder.resolve()
    others = [path for path in step_folders(folder.parent) if path.resolve() != damaged]
    before = [path for path in others if path.name < damaged.name] or others
    if not before:
        return none
    run, name = folder.parent.parent, before[-1].name
    resumes = f"translate resume {run} training.resume_from={name}"
    return f"; there is also {before[-1]} ({resumes} goes on from there)"


def snapshot(value: Any) -> Any:
    """A copy on the CPU, which later steps do not change; a tensor that occurs twice is copied once."""
    copies: dict[int, Tensor] = {}

    def copy(name: str, tensor: Tensor) -> Tensor:
        if tensor.is_meta:  # stands for a tensor in shards
            return tensor
        if id(tensor) not in copies:
            # A GPU synchronises here.
            copies[id(tensor)] = tensor.detach().to("cpu", copy=True)
        return copies[id(tensor)]

    return map_tensors(value, copy)


def map_tensors(value: Any, function: Callable[[str, Tensor], Tensor], name: str = "state") -> Any:
    """A copy of nested dictionaries and lists, with ``function`` applied to each tensor and its name."""
    if isinstance(value, Tensor):
        return function(name, value)
    if isinstance(value, Mapping):
        return {key: map_tensors(item, function, f"{name}.{key}") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map_tensors(item, function, f"{name}.{index}") for index, item in enumerate(value))
    return value


@dataclass
class Writer:
    """Writes one checkpoint at a time in a thread; training waits only for the previous one.

    A failure is raised by the next :meth:`submit`, :meth:`check` or :meth:`wait`, or at the end of the
    ``with`` block, which waits for the last checkpoint.

    Attributes:
        directory: ``checkpoints`` of the run.
    """

    directory: Path

    def __post_init__(self) -> None:
        self.pool = ThreadPoolExecutor(1, "checkpoint")
        self.written: Future[object] | None = None

    def submit(
        self, step: int, weights: Mapping[str, torch.Tensor], state: Mapping[str, Any], **options: Any
    ) -> None:
        """Write a checkpoint of the present tensors; options are those of :func:`save_checkpoint`."""
        self.wait()
        copied = snapshot((dict(weights), dict(state)))
        self.written = self.pool.submit(save_checkpoint, self.directory, step, *copied, **options)

    def check(self) -> None:
        """Raise the error of the last write, if it has failed."""
        if self.written is not None and self.written.done():
            self.wait()

    def wait(self) -> None:
        """Wait until nothing is being written; a full disk is a :class:`UserError`."""
        written, self.written = self.written, None
        try:
            if written is not None:
                written.result()
        except (OSError, RuntimeError, SafetensorError) as error:  # torch and safetensors have their own
            reason = f"cannot be written ({shorten(error)}); the disk may be full"
            if isinstance(error, OSError):
                reason = not_written(error)
            raise UserError(
                f"{self.directory}: the checkpoint {reason}; {last_checkpoint(self.directory)}"
            ) from error

    def __enter__(self) -> "Writer":
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        self.pool.shutdown()
        if kind is None:  # otherwise the first error is the one to report
            self.wait()
