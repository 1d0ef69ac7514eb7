"""What attention reads: keys, values and a mask, in a value that no module stores."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import torch
from torch import Tensor

HALF = (torch.float16, torch.bfloat16)


@dataclass(frozen=True)
class Memory:
    """The projected source states. A mechanism may add fields in a subclass."""

    keys: Tensor  # (B, H, S, E)
    values: Tensor  # (B, H, S, E')
    mask: Tensor | None = None  # (B, S) bool, True = visible

    def select(self, sentences: Tensor) -> "Memory":
        """The memory of the sentences at the given rows of the batch."""
        return select_rows(self, sentences)

    def precise(self) -> "Memory":
        """This memory with half precision widened to float32."""
        return each_tensor(self, lambda tensor: tensor.float() if tensor.dtype in HALF else tensor)


def each_tensor(value: Any, function: Callable[[Tensor], Tensor]) -> Any:
    """Apply ``function`` to every tensor in nested tuples and dataclasses; other values stay as they are."""
    if isinstance(value, Tensor):
        return function(value)
    if isinstance(value, tuple):
        return tuple(each_tensor(item, function) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(
            value, **{f.name: each_tensor(getattr(value, f.name), function) for f in fields(value)}
        )
    return value


def by_columns(matrices: Tensor) -> Tensor:
    """The same matrices (..., N, M), stored column by column."""
    return matrices.mT.contiguous().mT


def stored_by_columns(tensor: Tensor) -> bool:
    """Whether :func:`by_columns` made it."""
    return tensor.dim() > 2 and not tensor.is_contiguous() and tensor.mT.is_contiguous()


def zeros_stored_as(tensor: Tensor, sizes: Sequence[int]) -> Tensor:
    """Zeros of other ``sizes``, stored in the order of ``tensor``."""
    if not stored_by_columns(tensor):
        return tensor.new_zeros(*sizes)
    return tensor.new_zeros(*sizes[:-2], sizes[-1], sizes[-2]).mT


def select_rows(value: Any, rows: Tensor) -> Any:
    """The given rows of every tensor in ``value``: state of hypotheses, or memory of sentences."""

    def select(tensor: Tensor) -> Tensor:
        if stored_by_columns(tensor):
            return tensor.mT.index_select(0, rows).mT
        return tensor.index_select(0, rows)

    return each_tensor(value, select)


def put_rows(held: Any, rows: Tensor, new: Any, count: int) -> Any:
    """``held`` with its ``rows`` replaced by ``new``, in every tensor of two values built alike.

    Writes in place unless a tensor must grow. Zeros (``False`` in a mask) fill the smaller of the two.

    Args:
        held: tensors (N, ...).
        rows: (K,) int64, below ``count``.
        new: tensors (K, ...).
        count: rows of the result, N at least.
    """
    if isinstance(held, Tensor):
        sizes = [count, *(max(pair) for pair in zip(held.shape[1:], new.shape[1:], strict=True))]
        held = _grown(held, sizes)
        return held.index_copy_(0, rows, _grown(new, [len(new), *sizes[1:]]))
    if isinstance(held, tuple):
        return tuple(put_rows(own, rows, more, count) for own, more in zip(held, new, strict=True))
    if is_dataclass(held) and not isinstance(held, type):
        names = [field.name for field in fields(held)]
        return replace(
            held, **{name: put_rows(getattr(held, name), rows, getattr(new, name), count) for name in names}
        )
    return held


def _grown(tensor: Tensor, sizes: list[int]) -> Tensor:
    if list(tensor.shape) == sizes and (tensor.is_contiguous() or stored_by_columns(tensor)):
        return tensor
    grown = zeros_stored_as(tensor, sizes)
    grown[tuple(slice(size) for size in tensor.shape)] = tensor
    return grown
