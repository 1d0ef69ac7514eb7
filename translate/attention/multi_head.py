"""Scaled dot products in heads, for attention to a source and of a sequence to itself.

Shapes: B batch, S source, T target, L places of one sequence, H heads, G key/value heads, E width of a head.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from translate.attention.masks import Pattern
from translate.attention.mechanisms import DotProduct, check_size
from translate.attention.memory import Memory
from translate.attention.path_cache import LayerCache, PathCache

Turn = Callable[
    [Tensor, int | Tensor], Tensor
]  # queries or keys (B, H, L, E) from a place on, with their places put in


class MultiHead(DotProduct):
    """softmax(q k^T / sqrt(E)) v in several heads: Vaswani et al. 2017, 3.2.2.

    Args:
        query_size: width of a query.
        key_size: width of a source state.
        num_heads: H; divides ``attention_size``; by default the greatest of 4, 2 and 1 that does.
        attention_size: width of all heads together; ``query_size`` by default.
        causal: hide the keys in a query's future; the last query stands at the last key.
        bias: whether the projections have one.
        kernel: see ``translate doctor``.
        num_key_value_heads: G; divides ``num_heads``, which it is by default.
        dropout: of the weights, in training. On a CPU it forces the explicit path, so it is off by default.
    """

    scale = None

    def __init__(
        self,
        query_size: int,
        key_size: int,
        num_heads: int | None = None,
        attention_size: int | None = None,
        causal: bool = False,
        bias: bool = True,
        kernel: str = "auto",
        num_key_value_heads: int | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(query_size, key_size)
        self.choose_kernel(kernel)
        self.choose_dropout(dropout)
        size = check_size("attention_size", attention_size, query_size)
        self.num_heads = default_heads(size, num_heads)
        self.num_key_value_heads = check_size("num_key_value_heads", num_key_value_heads, self.num_heads)
        if self.num_heads % self.num_key_value_heads:
            raise ValueError(
                f"num_key_value_heads: expected a divisor of num_heads={self.num_heads}, "
                f"got {num_key_value_heads}"
            )
        self.head_size = size // self.num_heads
        self.causal = causal
        self.context_size = query_size
        memory_size = self.num_key_value_heads * self.head_size
        self.query_projection = nn.Linear(query_size, size, bias=bias)
        self.key_value_projection = nn.Linear(key_size, 2 * memory_size, bias=bias)
        self.output_projection = nn.Linear(size, query_size, bias=bias)
        # Each is initialised as a block of its own, as if the three were separate layers.
        for weight in (self.query_projection.weight, *self.key_value_projection.weight.chunk(2)):
            nn.init.xavier_uniform_(weight)
        nn.init.xavier_uniform_(self.output_projection.weight)
        if bias:
            for layer in (self.query_projection, self.key_value_projection, self.output_projection):
                nn.init.zeros_(layer.bias)

    def split(self, states: Tensor) -> Tensor:
        """(B, T, H E) -> (B, H, T, E)."""
        return states.unflatten(-1, (-1, self.head_size)).transpose(1, 2)

    def prepare(self, states: Tensor, mask: Tensor | None = None) -> Memory:
        self._check_states(states, mask)
        keys, values = self.key_value_projection(states).chunk(2, dim=-1)
        return Memory(self.split(keys), self.split(values), mask)

    def prepare_self(self, states: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Memory]:
        """Queries (B, H, L, E) and memory of states that attend to themselves.

        In training by one matrix product; else layer by layer: few rows do not repay a joint matrix.
        """
        self._check_states(states, mask)
        query_layer, memory_layer = self.query_projection, self.key_value_projection
        if not self.training:
            return self.split(query_layer(states)), MultiHead.prepare(self, states, mask)
        weight = torch.cat([query_layer.weight, memory_layer.weight])
        bias = None if query_layer.bias is None else torch.cat([query_layer.bias, memory_layer.bias])
        sizes = (query_layer.out_features, memory_layer.out_features // 2, memory_layer.out_features // 2)
        query, keys, values = F.linear(states, weight, bias).split(sizes, dim=-1)
        return self.split(query), Memory(self.split(keys), self.split(values), mask)

    def queries(self, query: Tensor) -> Tensor:
        return self.split(self.query_projection(query))

    def scores(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        return super().scores(query, self._for_each_head(memory), state)

    def weight(self, weights: Tensor, memory: Memory) -> Tensor:
        return super().weight(weights, self._for_each_head(memory))

    def merge(self, context: Tensor) -> Tensor:
        return self.output_projection(super().merge(context))

    def _for_each_head(self, memory: Memory) -> Memory:
        groups = self.num_heads // self.num_key_value_heads
        if groups == 1:
            return memory
        keys, values = (each.repeat_interleave(groups, 1) for each in (memory.keys, memory.values))
        return replace(memory, keys=keys, values=values)

    def attend_self(self, states: Tensor, mask: Tensor | None = None, turn: Turn | None = None) -> Tensor:
        """A sequence (B, L, D) attends to itself; ``turn`` puts places into queries and keys (rotary)."""
        query, memory = self.prepare_self(states, mask)
        if turn is not None:
            query, memory = turn(query, 0), Memory(turn(memory.keys, 0), memory.values, mask)
        return self.fuse(query, memory, self.own_pattern(states.shape[1], memory))

    def start_paths(self, num_layers: int, num_sentences: int, like: Tensor) -> PathCache | None:
        """A cache for this and the other layers of its kind that is written in place, if there can be one."""
        return PathCache(num_layers, num_sentences, self.num_key_value_heads, self.head_size, like)

    def start_self(self, num_rows: int, like: Tensor) -> Tensor:
        """The cache of :meth:`step_self` before the first place: (N, 2, G, 0, E)."""
        return like.new_empty(num_rows, 2, self.num_key_value_heads, 0, self.head_size)

    def step_self(
        self, states: Tensor, cache: Tensor | LayerCache, place: int | Tensor, turn: Turn | None = None
    ) -> tuple[Tensor, Tensor | LayerCache]:
        """One more place (N, 1, D) of each sequence.

        The cache holds keys and values so far: (N, 2, G, T, E), of which a longer one is returned, or it is a
        layer of a :class:`PathCache`, which is written.
        """
        query, new = self.prepare_self(states)
        keys = new.keys
        if turn is not None:
            query, keys = turn(query, place), turn(keys, place)
        if isinstance(cache, LayerCache):
            return self._step_paths(query, keys, new.values, cache), cache
        cache = torch.cat([cache, torch.stack([keys, new.values], dim=1)], dim=3)
        memory = Memory(cache[:, 0], cache[:, 1])
        return self.fuse(query, memory, self.own_pattern(1, memory)), cache

    def _step_paths(self, query: Tensor, keys: Tensor, values: Tensor, cache: LayerCache) -> Tensor:
        """Attend as each hypothesis (N, H, 1, E) to its own path: (N, 1, D)."""
        paths = cache.paths
        memory = Memory(*cache.write(keys, values))
        query = query.view(paths.num_sentences, paths.width, *query.shape[1::2]).transpose(
            1, 2
        )  # (B, H, W, E)
        one_path = Memory(
            *(each[:, :, :1].expand(-1, -1, paths.length, -1) for each in (memory.keys, memory.values))
        )
        pattern = self.own_pattern(1, one_path)
        if paths.parted:
            pattern = Pattern(extra=paths.added(pattern.total(1, paths.length, query)))
        return self.fuse(query, memory, pattern).flatten(0, 1).unsqueeze(1)

    def own_pattern(self, num_queries: int, memory: Memory) -> Pattern:
        """The pattern of a sequence that attends to itself: its last query stands at its last key."""
        return Pattern(
            memory.mask, self.causal, start=memory.keys.shape[2] - num_queries, own=num_queries > 1
        )


class ScaledDot(MultiHead):
    """softmax(q k^T / sqrt(d)) v with one head: Vaswani et al. 2017, eq. 1.

    Args:
        query_size: width of a query.
        key_size: width of a source state.
        attention_size: d; ``query_size`` by default.
        kernel: see ``translate doctor``.
    """

    def __init__(
        self, query_size: int, key_size: int, attention_size: int | None = None, kernel: str = "auto"
    ) -> None:
        super().__init__(query_size, key_size, 1, attention_size, kernel=kernel)


class GroupedQuery(MultiHead):
    """Several query heads read one key/value head: Ainslie et al. 2023, 2.2; with G = 1, multi-query.

    Head h reads key/value head h // (H / G).

    Args:
        query_size: width of a query.
        key_size: width of a source state.
        num_heads: H; as :class:`MultiHead`.
        attention_size: width of all query heads together; ``query_size`` by default.
        causal: hide the keys in a query's future.
        bias: whether the projections have one.
        kernel: see ``translate doctor``.
        num_key_value_heads: G; divides ``num_heads``; half of them by default.
        dropout: as :class:`MultiHead`.
    """

    def __init__(
        self,
        query_size: int,
        key_size: int,
        num_heads: int | None = None,
        attention_size: int | None = None,
        causal: bool = False,
        bias: bool = True,
        kernel: str = "auto",
        num_key_value_heads: int | None = None,
        dropout: float = 0.0,
    ) -> None:
        heads = default_heads(check_size("attention_size", attention_size, query_size), num_heads)
        groups = max(1, heads // 2) if num_key_value_heads is None else num_key_value_heads
        if num_key_value_heads is None and heads % groups:
            groups = 1
        super().__init__(query_size, key_size, heads, attention_size, causal, bias, kernel, groups, dropout)


def default_heads(size: int, num_heads: int | None) -> int:
    """``num_heads``, by default the greatest of 4, 2 and 1 that divides ``size``; raises ``ValueError``."""
    heads = math.gcd(4, size) if num_heads is None else num_heads
    if heads < 1 or size % heads:
        raise ValueError(f"num_heads: expected a divisor of attention_size={size}, got {heads}")
    return heads
