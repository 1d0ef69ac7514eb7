"""Mechanisms whose scores are dot products, so that torch's kernels compute their contexts; in heads or not.

Within a sequence the last query stands at the last key. To a source, query t stands at source position t, and
the state of a hypothesis is that position; it counts where a window or a distance bias is set.

Shapes: B batch, S source, T target, L positions of one sequence, H heads, G key/value heads, E width of a
head.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from translate.attention.contract import Attention, check_size, register
from translate.attention.functional import dot_scores
from translate.attention.kernels.fused import KERNELS, check_kernel, fused_attention
from translate.attention.memory import Memory, Pattern
from translate.attention.path_cache import LayerCache, PathCache
from translate.config.option_groups import NumHeads, Width, flat_options, option_group
from translate.errors import UserError

# Turns queries or keys (B, H, L, E) from a position on by their positions (rotary).
Turn = Callable[[Tensor, int | Tensor], Tensor]


class SizeMismatchError(UserError):
    """A mechanism compares queries with source states of another width."""

    def __init__(self, mechanism: str, query_size: int, key_size: int) -> None:
        super().__init__(
            f"{mechanism} attention needs query_size == key_size, got {query_size} and {key_size}; "
            f"use general"
        )
        self.mechanism, self.query_size, self.key_size = mechanism, query_size, key_size


class DotProduct(Attention):
    """Base of the mechanisms that score by q^T k."""

    fusible = True
    scale: float | None = 1.0  # None: 1 / sqrt(E)
    kernels: tuple[str, ...] = KERNELS
    refusal = ""  # why some kernels are not in `kernels`

    def choose_kernel(self, kernel: str) -> None:
        """Set the kernel of `fused`; raises ``ValueError`` if it can never run this mechanism."""
        self.kernel = check_kernel(kernel, type(self).__name__, self.kernels, self.refusal)

    def choose_dropout(self, dropout: float) -> None:
        """Set the dropout of the weights; raises ``ValueError`` if the kernel has no dropout."""
        if not 0.0 <= dropout < 1.0:
            raise ValueError(f"dropout: expected a probability in [0, 1), got {dropout}")
        if dropout and self.kernel not in ("auto", "explicit"):
            raise ValueError(
                f"kernel: {self.kernel} cannot run with dropout={dropout}; auto and explicit can"
            )
        self.dropout = dropout

    def queries(self, query: Tensor) -> Tensor:
        """Project queries and split them into heads: (B, T, query_size) -> (B, H, T, E)."""
        return query.unsqueeze(1)

    def scores(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        split = self.queries(query)
        scores = dot_scores(split, memory.keys)
        scores = scores * (split.shape[-1] ** -0.5 if self.scale is None else self.scale)
        pattern = self.pattern(query.shape[1], memory, state)
        bias = pattern.added(query.shape[1], memory.keys.shape[2], query.device)
        return scores if bias is None else scores + bias

    def fused(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        return self.fuse(self.queries(query), memory, self.pattern(query.shape[1], memory, state))

    def fuse(self, query: Tensor, memory: Memory, pattern: Pattern) -> Tensor:
        """The context of queries that are projected and split: (B, H, T, E) -> (B, T, context_size)."""
        context = fused_attention(
            query,
            memory.keys,
            memory.values,
            pattern,
            scale=self.scale,
            kernel=self.kernel,
            dropout=self.dropout if self.training else 0.0,
        )
        return self.merge(context)


@register("dot")
class Dot(DotProduct):
    """q^T k: Luong et al. 2015, eq. 8, dot.

    Args:
        query_size: width of a query.
        key_size: width of a source state; equal to ``query_size``.
        kernel: how contexts are computed; see ``translate doctor``.

    Raises:
        SizeMismatchError: if the two widths differ.
    """

    plain_score = "dot"

    def __init__(self, query_size: int, key_size: int, kernel: str = "auto") -> None:
        super().__init__(query_size, key_size)
        if query_size != key_size:
            raise SizeMismatchError("dot", query_size, key_size)
        self.choose_kernel(kernel)


@register("self_dot")
class SelfDot(Dot):
    """q^T k of one sequence with itself, without projections or scale: auto-correlation.

    For an encoder that is one layer of attention: a query is a state of the sequence itself.
    """


@register("general")
class General(DotProduct):
    """q^T W k: Luong et al. 2015, eq. 8, general.

    W is applied to the keys, once a sentence.

    Args:
        query_size: width of a query.
        key_size: width of a source state.
        kernel: how contexts are computed; see ``translate doctor``.
    """

    plain_score = "dot"

    def __init__(self, query_size: int, key_size: int, kernel: str = "auto") -> None:
        super().__init__(query_size, key_size)
        self.choose_kernel(kernel)
        self.key_projection = nn.Linear(key_size, query_size, bias=False)

    def prepare(self, states: Tensor, mask: Tensor | None = None) -> Memory:
        self._check_states(states, mask)
        return Memory(self.key_projection(states).unsqueeze(1), states.unsqueeze(1), mask)


@option_group
@dataclass(frozen=True)
class Heads:
    """The options of a multi-head attention.

    Attributes:
        num_heads: number of heads; divides ``attention_size``; the greatest of 4, 2 and 1 if ``None``.
        attention_size: width of all heads together; ``query_size`` if ``None``.
        num_key_value_heads: number of heads of the keys and values; divides ``num_heads``; see the mechanism
            for ``None``.
        bias: whether the projections have a bias.
        kernel: how contexts are computed; see ``translate doctor``.
        dropout: probability of dropping a weight, in training. On a CPU it forces the explicit path, so it is
            off by default.
        window: the greatest distance, in positions, at which a query sees a key; no limit if ``None``.
    """

    num_heads: NumHeads | None = None
    attention_size: Width | None = None
    num_key_value_heads: NumHeads | None = None
    bias: bool = True
    kernel: str = "auto"
    dropout: float = 0.0
    window: int | None = None


HEADS = Heads()


@register("multi_head")
class MultiHead(DotProduct):
    """softmax(q k^T / sqrt(E)) v in several heads: Vaswani et al. 2017, 3.2.2.

    Families of this mechanism set other options, or add a bias by :meth:`distance_bias`; options compose.

    Args:
        query_size: width of a query.
        key_size: width of a source state.
        heads: see :class:`Heads`; ``num_key_value_heads`` is ``num_heads`` if ``None``.
        causal: hide the keys in a query's future; the last query stands at the last key.
    """

    plain_score = "multi_head"
    scale = None
    attends_self = True
    biased = False  # whether `distance_bias` adds to the scores

    @flat_options
    def __init__(self, query_size: int, key_size: int, heads: Heads = HEADS, *, causal: bool = False) -> None:
        super().__init__(query_size, key_size)
        self.choose_kernel(heads.kernel)
        self.choose_dropout(heads.dropout)
        size = check_size("attention_size", heads.attention_size, query_size)
        self.num_heads = default_heads(size, heads.num_heads)
        self.num_key_value_heads = check_size(
            "num_key_value_heads", heads.num_key_value_heads, self.default_groups()
        )
        if self.num_heads % self.num_key_value_heads:
            raise ValueError(
                f"num_key_value_heads: expected a divisor of num_heads={self.num_heads}, "
                f"got {heads.num_key_value_heads}"
            )
        self.window = None if heads.window is None else check_size("window", heads.window, heads.window)
        self.head_size = size // self.num_heads
        self.causal = causal
        self.positioned = self.biased or self.window is not None
        self.context_size = query_size
        memory_size = self.num_key_value_heads * self.head_size
        self.query_projection = nn.Linear(query_size, size, bias=heads.bias)
        self.key_value_projection = nn.Linear(key_size, 2 * memory_size, bias=heads.bias)
        self.output_projection = nn.Linear(size, query_size, bias=heads.bias)
        # Keys and values are initialised as two blocks, as if they were separate layers.
        for weight in (self.query_projection.weight, *self.key_value_projection.weight.chunk(2)):
            nn.init.xavier_uniform_(weight)
        nn.init.xavier_uniform_(self.output_projection.weight)
        if heads.bias:
            for layer in (self.query_projection, self.key_value_projection, self.output_projection):
                nn.init.zeros_(layer.bias)

    def default_groups(self) -> int:
        """The number of key/value heads where the options give none."""
        return self.num_heads

    def distance_bias(self, distances: Tensor) -> Tensor:
        """The bias of the scores at ``distances``, key's position - query's: any shape -> (H, shape)."""
        raise NotImplementedError

    def split(self, states: Tensor) -> Tensor:
        """(B, T, H E) -> (B, H, T, E)."""
        return states.unflatten(-1, (-1, self.head_size)).transpose(1, 2)

    def prepare(self, states: Tensor, mask: Tensor | None = None) -> Memory:
        self._check_states(states, mask)
        keys, values = self.key_value_projection(states).chunk(2, dim=-1)
        return Memory(self.split(keys), self.split(values), mask)

    def queries(self, query: Tensor) -> Tensor:
        return self.split(self.query_projection(query))

    def scores(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        return super().scores(query, self._for_each_head(memory), state)

    def weight(self, weights: Tensor, memory: Memory) -> Tensor:
        return super().weight(weights, self._for_each_head(memory))

    def merge(self, context: Tensor) -> Tensor:
        return self.output_projection(super().merge(context))

    def pattern(self, num_queries: int, memory: Memory, state: Any = None) -> Pattern:
        pattern = super().pattern(num_queries, memory)
        if not self.positioned:
            return pattern
        positions = None if state is None else self.query_positions(num_queries, memory, state)
        bias = self.distance_bias if self.biased else None
        return replace(pattern, window=self.window, bias=bias, positions=positions)

    def _for_each_head(self, memory: Memory) -> Memory:
        groups = self.num_heads // self.num_key_value_heads
        if groups == 1:
            return memory
        keys, values = memory.keys.repeat_interleave(groups, 1), memory.values.repeat_interleave(groups, 1)
        return replace(memory, keys=keys, values=values)

    def attend_self(self, states: Tensor, mask: Tensor | None = None, turn: Turn | None = None) -> Tensor:
        """A sequence (B, L, D) attends to itself; ``turn`` rotates queries and keys by their positions."""
        query, memory = self._turned(self.queries(states), self.prepare(states, mask), 0, turn)
        return self.fuse(query, memory, self.pattern(states.shape[1], memory))

    def start_paths(self, num_layers: int, num_sentences: int, like: Tensor) -> PathCache | None:
        """A cache for all layers of this kind that steps write in place, or ``None`` if there can be none."""
        return PathCache(num_layers, num_sentences, self.num_key_value_heads, self.head_size, like)

    def start_self(self, num_rows: int, like: Tensor) -> Tensor:
        """The cache of :meth:`step_self` before the first position: (N, 2, G, 0, E)."""
        return like.new_empty(num_rows, 2, self.num_key_value_heads, 0, self.head_size)

    def step_self(
        self, states: Tensor, cache: Tensor | LayerCache, position: int | Tensor, turn: Turn | None = None
    ) -> tuple[Tensor, Tensor | LayerCache]:
        """Attend from one more position (N, 1, D) of each sequence.

        The cache holds keys and values so far. It is a tensor (N, 2, G, T, E), of which a longer one is
        returned, or a layer of a :class:`PathCache`, which is written in place.
        """
        query, new = self._turned(self.queries(states), self.prepare(states), position, turn)
        if isinstance(cache, LayerCache):
            return self._step_paths(query, new, cache), cache
        if self.window is not None:  # the next position cannot see further back: the cache stops growing
            cache = cache[:, :, :, -self.window :]
        cache = torch.cat([cache, torch.stack([new.keys, new.values], dim=1)], dim=3)
        memory = Memory(cache[:, 0], cache[:, 1])
        return self.fuse(query, memory, self.pattern(1, memory)), cache

    def _turned(
        self, query: Tensor, memory: Memory, position: int | Tensor, turn: Turn | None
    ) -> tuple[Tensor, Memory]:
        if turn is None:
            return query, memory
        return turn(query, position), replace(memory, keys=turn(memory.keys, position))

    def _step_paths(self, query: Tensor, new: Memory, cache: LayerCache) -> Tensor:
        """Attend as each hypothesis (N, H, 1, E) to its own path: (N, 1, D)."""
        paths = cache.paths
        memory = Memory(*paths.write(cache.layer, new.keys, new.values))
        query = query.view(paths.num_sentences, paths.width, *query.shape[1::2])
        query = query.transpose(1, 2)  # (B, H, W, E)
        one_path = Memory(
            *(part[:, :, :1].expand(-1, -1, paths.length, -1) for part in (memory.keys, memory.values))
        )
        pattern = self.pattern(1, one_path)
        if paths.parted:
            pattern = Pattern(extra=paths.added(pattern.total(1, paths.length, query)))
        return self.fuse(query, memory, pattern).flatten(0, 1).unsqueeze(1)


@register("scaled_dot")
class ScaledDot(MultiHead):
    """softmax(q k^T / sqrt(d)) v with one head: Vaswani et al. 2017, eq. 1.

    Args:
        query_size: width of a query.
        key_size: width of a source state.
        attention_size: d; ``query_size`` if ``None``.
        kernel: how contexts are computed; see ``translate doctor``.
    """

    def __init__(
        self, query_size: int, key_size: int, attention_size: Width | None = None, kernel: str = "auto"
    ) -> None:
        super().__init__(query_size, key_size, Heads(1, attention_size, kernel=kernel))


@register("self_qkv")
class SelfQKV(ScaledDot):
    """softmax((W_q x)^T (W_k x) / sqrt(d)) W_v x of one sequence, one head: Vaswani et al. 2017, 3.2.3.

    For an encoder that is one layer of attention: a query is a state of the sequence itself.
    """


@register("grouped_query")
class GroupedQuery(MultiHead):
    """Several query heads that read one key/value head: Ainslie et al. 2023, 2.2.

    Head h reads key/value head h // (H / G); with G = 1 it is multi-query attention. If
    ``num_key_value_heads`` is ``None``, G is half of H, or 1 where that does not divide H.
    """

    def default_groups(self) -> int:
        half = max(1, self.num_heads // 2)
        return 1 if self.num_heads % half else half


def default_heads(size: int, num_heads: int | None) -> int:
    """``num_heads``, or the greatest of 4, 2 and 1 that divides ``size``; raises ``ValueError``."""
    heads = math.gcd(4, size) if num_heads is None else num_heads
    if heads < 1 or size % heads:
        raise ValueError(f"num_heads: expected a divisor of attention_size={size}, got {heads}")
    return heads
