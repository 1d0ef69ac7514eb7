"""Which keys each query may see, and what their distance adds to its scores. True = visible.

Shapes: B batch, T queries, S keys, H heads.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor


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
        own: whether the queries are the sequence of the keys itself, padding included.
        extra: a further bias of the scores, broadcastable to (B, H, T, S).
    """

    mask: Tensor | None = None
    causal: bool = False
    window: int | None = None
    bias: Callable[[Tensor], Tensor] | None = None
    start: int = 0
    positions: Tensor | None = None
    own: bool = False
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

    def by_distance(self, num_queries: int, num_keys: int, device: torch.device) -> Tensor | None:
        """The bias of each distance from the least, ``1 - T - start``, to the greatest: (H, T + S - 1)."""
        if self.bias is None:
            return None
        return self.bias(torch.arange(1 - num_queries - self.start, num_keys - self.start, device=device))
