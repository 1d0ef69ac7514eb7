"""What attention reads: keys, values and a mask, in a value that no module stores."""

from collections.abc import Callable
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


def select_rows(value: Any, rows: Tensor) -> Any:
    """The given rows of every tensor in ``value``: state of hypotheses, or memory of sentences."""
    return each_tensor(value, lambda tensor: tensor.index_select(0, rows))


def join_rows(first: Any, second: Any) -> Any:
    """The rows of ``first`` and then those of ``second``, in every tensor of two values built alike.

    Where one is smaller in the other dimensions, zeros follow it, in masks ``False``.
    """
    if isinstance(first, Tensor):
        if first.shape[1:] == second.shape[1:]:
            return torch.cat([first, second])
        sizes = [max(each) for each in zip(first.shape[1:], second.shape[1:], strict=True)]
        joined = first.new_zeros(len(first) + len(second), *sizes)
        for rows, each in zip(joined.split([len(first), len(second)]), (first, second), strict=True):
            rows[(slice(None), *(slice(size) for size in each.shape[1:]))] = each
        return joined
    if isinstance(first, tuple):
        return tuple(join_rows(*each) for each in zip(first, second, strict=True))
    if is_dataclass(first) and not isinstance(first, type):
        names = [field.name for field in fields(first)]
        return replace(
            first, **{name: join_rows(getattr(first, name), getattr(second, name)) for name in names}
        )
    return first
