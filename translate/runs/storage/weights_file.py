"""The weights of a checkpoint, which may be a stranger's file: checked before they are read."""

import math
import os
from pathlib import Path
from typing import NamedTuple

from safetensors import SafetensorError, safe_open

from translate.config.names import shorten
from translate.errors import UserError
from translate.text.bounded import check_regular

MAX_HEADER = 1 << 24  # bytes; a layer takes about 2,000
_BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2}  # kinds of numbers that weights may have


class Stored(NamedTuple):
    """What the header of a weights file says of one tensor."""

    shape: tuple[int, ...]
    dtype: str  # as safetensors names it: F32, BF16, I8 ...

    @property
    def is_floating(self) -> bool:
        return self.dtype in _BYTES


def read_header(path: Path) -> dict[str, Stored]:
    """Shape and type of every tensor of a file; none of them is read.

    Raises:
        FileNotFoundError: if there is no file.
        UserError: for a file that is no regular one inside its run, a header that is too large, or more
            numbers than this machine has memory for.
        SafetensorError: for a damaged file.
    """
    check_regular(path, root=path.parent.parent.parent)  # run/checkpoints/best/model.safetensors
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
    if length > MAX_HEADER:
        raise SafetensorError(f"a header of {length:,} bytes")
    with safe_open(path, "pt") as tensors:
        slices = {name: tensors.get_slice(name) for name in tensors.keys()}  # noqa: SIM118 (no mapping)
        found = {name: Stored(tuple(each.get_shape()), each.get_dtype()) for name, each in slices.items()}
    needed = sum(math.prod(each.shape) * _BYTES.get(each.dtype, 1) for each in found.values())
    if needed > (memory := _memory()):
        raise UserError(
            f"{path}: the weights need {needed >> 30:,} GiB of memory, and this machine has "
            f"{memory >> 30:,}; load them on a larger one"
        )
    return found


def differing(stored: dict[str, Stored], own: dict[str, tuple[tuple[int, ...], bool]]) -> str | None:
    """What is wrong with a header for a model, as part of a sentence; ``None`` if it fits.

    Args:
        stored: of :func:`read_header`.
        own: the shape of each tensor of the model, and whether it holds floating-point numbers.
    """
    unmatched = sorted(stored.keys() ^ own.keys())
    if unmatched:
        return f"the checkpoint is of another model ({shorten(unmatched[0])} is not in both)"
    for name, (shape, floating) in own.items():
        if stored[name].shape != shape:
            return f"{name} has shape {shorten(stored[name].shape)}, expected {shape}"
        if stored[name].is_floating != floating:
            kind = "floating-point numbers (F32, F16, BF16 or F64)" if floating else "integers"
            return f"{name} holds {stored[name].dtype}, expected {kind}"
    return None


def _memory() -> int:
    """Bytes of memory that this machine has; unbounded where that cannot be asked."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 1 << 62
