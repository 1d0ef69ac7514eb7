"""Keys, values, masks and distance biases: values that attention reads, and no module stores.

A mask is True where a key is visible. Shapes: B batch, T queries, S keys, H heads.
"""

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

    def narrow(self, length: int) -> "Memory":
        """The memory of the first ``length`` positions; one with further fields stays whole."""
        if len(fields(self)) > len(fields(Memory)):
            return self
        keys, values, mask = self.keys[:, :, :length], self.values[:, :, :length], self.mask
        return Memory(keys, values, None if mask is None else mask[:, :length])

    def precise(self) -> "Memory":
        """This memory with half precision widened to float32."""
        return each_tensor(self, lambda tensor: tensor.float() if tensor.dtype in HALF else tensor)


@dataclass(frozen=True)
class SourceParts:
    """The parts of a source that some mechanisms tell apart; ``None`` where there are none."""

    patches: Tensor | None = None  # (B, S) bool: whether a position is a patch of an image
    sentences: Tensor | None = None  # (B, S) int64: 0 for the last sentence, 1 for the one before it ...


WHOLE = SourceParts()


def check_mask(mask: Tensor | None, states: Tensor) -> None:
    """Raise ``ValueError`` unless ``mask`` is bool (B, S) for ``states`` (B, S, ...)."""
    if mask is None:
        return
    if mask.dtype != torch.bool:
        raise ValueError(f"mask: expected dtype torch.bool (True = visible), got {mask.dtype}")
    if mask.shape != states.shape[:2]:
        raise ValueError(f"mask: expected shape {tuple(states.shape[:2])}, got {tuple(mask.shape)}")


def lengths_of(mask: Tensor | None, states: Tensor) -> Tensor:
    """True lengths (B,) int64 of ``states`` (B, ..., S, E) under a mask (B, S)."""
    if mask is None:
        return torch.full((states.shape[0],), states.shape[-2], device=states.device)
    return mask.sum(1)


@dataclass(frozen=True)
class Pattern:
    """Padding, causality, window and distance bias in one value, which every kernel reads in its own way.

    Attributes:
        mask: (B, S) bool, or ``None`` if nothing is padded.
        causal: hide the keys after a query's position.
        window: the greatest distance, in positions, at which a query sees a key.
        bias: maps distances (key's position - query's, int64, any shape) to a bias of the scores, (H, shape).
        start: the position of the first query, unless ``positions`` is given.
        positions: (B, T) positions of the queries.
        extra: a further bias of the scores, broadcastable to (B, H, T, S).
    """

    mask: Tensor | None = None
    causal: bool = False
    window: int | None = None
    bias: Callable[[Tensor], Tensor] | None = None
    start: int = 0
    positions: Tensor | None = None
    extra: Tensor | None = None

    def distances(self, num_queries: int, num_keys: int, device: torch.device) -> Tensor:
        """Key's position - query's: (1 or B, T, S) int64."""
        keys = torch.arange(num_keys, device=device)
        if self.positions is not None:
            return keys - self.positions.unsqueeze(2)
        queries = torch.arange(self.start, self.start + num_queries, device=device)
        return (keys - queries.unsqueeze(1)).unsqueeze(0)

    def visible(self, num_queries: int, num_keys: int, device: torch.device) -> Tensor | None:
        """Broadcastable to (B, H, T, S), bool; ``None`` if every key is visible."""
        combined = None if self.mask is None else self.mask[:, None, None, :]  # (B, 1, 1, S)
        # A single query that stands at the last key has no future.
        causal = self.causal and (self.positions is not None or self.start < num_keys - 1)
        if not causal and self.window is None:
            return combined
        distance = self.distances(num_queries, num_keys, device).unsqueeze(1)
        near = distance <= 0 if causal else None
        if self.window is not None:
            within = distance.abs() <= self.window
            near = within if near is None else near & within
        assert near is not None
        return near if combined is None else combined & near

    def added(self, num_queries: int, num_keys: int, device: torch.device) -> Tensor | None:
        """The bias by distance, (1 or B, H, T, S), plus ``extra``; ``None`` without either."""
        if self.bias is None:
            return self.extra
        bias = self.bias(self.distances(num_queries, num_keys, device)).transpose(0, 1)
        return bias if self.extra is None else bias + self.extra

    def total(self, num_queries: int, num_keys: int, like: Tensor) -> Tensor | None:
        """The bias, and -inf where a key is hidden; ``None`` if every key is visible without a bias."""
        seen = self.visible(num_queries, num_keys, like.device)
        added = self.added(num_queries, num_keys, like.device)
        if seen is None:
            return None if added is None else added.to(like.dtype)
        base = like.new_zeros(()) if added is None else added.to(like.dtype)
        return base.masked_fill(~seen, float("-inf"))


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


def tensors_of(value: Any) -> list[Tensor]:
    """The tensors in nested tuples and dataclasses, in the order of :func:`each_tensor`."""
    found: list[Tensor] = []

    def note(tensor: Tensor) -> Tensor:
        found.append(tensor)
        return tensor

    each_tensor(value, note)
    return found


def select_rows(value: Any, rows: Tensor) -> Any:
    """The given rows of every tensor in ``value``: state of hypotheses, or memory of sentences."""
    return each_tensor(value, lambda tensor: tensor.index_select(0, rows))


def put_rows(held: Any, rows: Tensor, new: Any, count: int) -> Any:
    """``held`` with its ``rows`` replaced by ``new``, in every tensor of two values built alike.

    Writes in place unless a tensor must grow. Zeros (``False`` in a mask) fill the smaller of the two.

    Args:
        held: tensors (N, ...).
        rows: (K,) int64, below ``count``.
        new: tensors (K, ...).
        count: rows of the result, N at least.
    """
    others = iter(tensors_of(new))

    def written(own: Tensor) -> Tensor:
        more = next(others)
        sizes = [count, *(max(pair) for pair in zip(own.shape[1:], more.shape[1:], strict=True))]
        return _grown(own, sizes).index_copy_(0, rows, _grown(more, [len(more), *sizes[1:]]))

    return each_tensor(held, written)


def _grown(tensor: Tensor, sizes: list[int]) -> Tensor:
    if list(tensor.shape) == sizes and tensor.is_contiguous():
        return tensor
    grown = tensor.new_zeros(*sizes)
    grown[tuple(slice(size) for size in tensor.shape)] = tensor
    return grown
