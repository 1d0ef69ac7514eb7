"""The attention contract and the mechanisms that score by content.

Every mechanism is four steps: keys and values (``prepare``), score (``scores``), align (softmax) and
weight (weighted sum). ``Attention.forward`` is written once; a mechanism gives the first two.

Shapes: B batch, S source, T target, H heads, E width of a head, A width of the attention layer.
"""

from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from translate.attention.functional import additive_scores, dot_scores, masked_softmax, scaled_dot_scores
from translate.attention.fused import fused_attention
from translate.attention.masks import check_mask, visible


@dataclass(frozen=True)
class Memory:
    """What a mechanism made of the source states: a value, never a module attribute."""

    keys: Tensor  # (B, H, S, E)
    values: Tensor  # (B, H, S, E')
    mask: Tensor | None = None  # (B, S) bool, True = visible

    def select(self, sentences: Tensor) -> "Memory":
        """The memory of the sentences at the given places of the batch."""
        mask = None if self.mask is None else self.mask.index_select(0, sentences)
        return replace(
            self,
            keys=self.keys.index_select(0, sentences),
            values=self.values.index_select(0, sentences),
            mask=mask,
        )


class Attention(nn.Module):
    """One attention mechanism: ``forward(query, memory)`` gives the context, and weights on request.

    Args:
        query_size: width of a query.
        key_size: width of a source state.
    """

    num_heads = 1
    fusible = False  # whether `fused` computes the context without writing the weights down
    stateful = False  # whether `advance` carries a history from step to step, so that queries come one by one
    causal = False  # hide the keys in a query's future (self-attention of a decoder)
    context_size: int  # width of the context

    def __init__(self, query_size: int, key_size: int) -> None:
        super().__init__()
        self.query_size = query_size
        self.key_size = key_size
        self.context_size = key_size

    def prepare(self, states: Tensor, mask: Tensor | None = None) -> Memory:
        """Project the source states once: (B, S, key_size) and (B, S) bool, True = visible."""
        self._check_states(states, mask)
        return Memory(states.unsqueeze(1), states.unsqueeze(1), mask)

    def scores(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        """How relevant each key is to each query: (B, T, query_size) -> (B, H, T, S)."""
        raise NotImplementedError

    def initial_state(self, memory: Memory, num_queries: int) -> Any:
        """The state of a mechanism with a history, for ``num_queries`` hypotheses a sentence."""
        return None

    def advance(self, state: Any, weights: Tensor) -> Any:
        """The state after a step that gave ``weights`` (B, H, T, S)."""
        return state

    def forward(
        self, query: Tensor, memory: Memory, *, need_weights: bool = False, state: Any = None
    ) -> tuple[Tensor, Tensor | None]:
        """Attend: context (B, T, context_size), and weights (B, H, T, S) if they are wanted.

        Args:
            query: (B, T, query_size).
            memory: of :meth:`prepare`.
            need_weights: take the explicit path, which writes the weights down.
            state: of a mechanism with a history.
        """
        self._check_query(query)
        if self.fusible and not need_weights:
            return self.fused(query, memory), None
        weights = self.align(self.scores(query, memory, state), memory)
        return self.weight(weights, memory), weights

    def align(self, scores: Tensor, memory: Memory) -> Tensor:
        """Normalise the scores (B, H, T, S) over the visible keys."""
        return masked_softmax(scores, self._visible(scores.shape[-2], memory))

    def weight(self, weights: Tensor, memory: Memory) -> Tensor:
        """The weighted sum of the values: (B, H, T, S) -> (B, T, context_size)."""
        return self.merge(weights.to(memory.values.dtype) @ memory.values)

    def merge(self, context: Tensor) -> Tensor:
        """Heads side by side: (B, H, T, E') -> (B, T, H E')."""
        return context.transpose(1, 2).flatten(2)

    def fused(self, query: Tensor, memory: Memory) -> Tensor:
        """The context by a kernel that never holds the weights."""
        raise NotImplementedError

    def _visible(self, num_queries: int, memory: Memory) -> Tensor | None:
        return visible(
            memory.mask,
            causal=self.causal,
            num_queries=num_queries,
            num_keys=memory.keys.shape[-2],
            device=memory.keys.device,
        )

    def _check_states(self, states: Tensor, mask: Tensor | None) -> None:
        if states.dim() != 3 or states.shape[-1] != self.key_size:
            raise ValueError(f"states: expected (B, S, {self.key_size}), got {tuple(states.shape)}")
        check_mask(mask, states)

    def _check_query(self, query: Tensor) -> None:
        if query.dim() != 3 or query.shape[-1] != self.query_size:
            raise ValueError(f"query: expected (B, T, {self.query_size}), got {tuple(query.shape)}")


class Additive(Attention):
    """v^T tanh(W q + U k): Bahdanau et al. 2015, A.1.2.

    Args:
        query_size: width of a query.
        key_size: width of a source state.
        attention_size: A, width of the hidden layer; ``query_size`` by default.
    """

    def __init__(self, query_size: int, key_size: int, attention_size: int | None = None) -> None:
        super().__init__(query_size, key_size)
        size = attention_size or query_size
        self.query_projection = nn.Linear(query_size, size)
        self.key_projection = nn.Linear(key_size, size, bias=False)  # W's bias already shifts the sum
        self.direction = nn.Parameter(torch.empty(size))
        nn.init.uniform_(self.direction, -(size**-0.5), size**-0.5)

    def prepare(self, states: Tensor, mask: Tensor | None = None) -> Memory:
        self._check_states(states, mask)
        return Memory(self.key_projection(states).unsqueeze(1), states.unsqueeze(1), mask)

    def scores(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        keys = memory.keys.squeeze(1)
        return additive_scores(self.query_projection(query), keys, self.direction).unsqueeze(
            1
        )  # (B, 1, T, S)


class Dot(Attention):
    """q^T k: Luong et al. 2015, eq. 8, dot. Needs queries as wide as the source states."""

    fusible = True

    def __init__(self, query_size: int, key_size: int) -> None:
        super().__init__(query_size, key_size)
        if query_size != key_size:
            raise ValueError(
                f"dot attention needs query_size == key_size, got {query_size} and {key_size}; use general"
            )

    def scores(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        return dot_scores(query.unsqueeze(1), memory.keys)  # (B, 1, T, S)

    def fused(self, query: Tensor, memory: Memory) -> Tensor:
        context = fused_attention(query.unsqueeze(1), memory.keys, memory.values, mask=memory.mask, scale=1.0)
        return self.merge(context)


class General(Dot):
    """q^T W k: Luong et al. 2015, eq. 8, general; W is applied to the keys, once a sentence."""

    def __init__(self, query_size: int, key_size: int) -> None:
        super().__init__(query_size, query_size)
        self.key_size = self.context_size = key_size
        self.key_projection = nn.Linear(key_size, query_size, bias=False)

    def prepare(self, states: Tensor, mask: Tensor | None = None) -> Memory:
        self._check_states(states, mask)
        return Memory(self.key_projection(states).unsqueeze(1), states.unsqueeze(1), mask)


class Concat(Additive):
    """v^T tanh(W [q; k]): Luong et al. 2015, eq. 8, concat.

    W [q; k] is the sum of two projections, so this is the additive score without a bias.
    """

    def __init__(self, query_size: int, key_size: int, attention_size: int | None = None) -> None:
        super().__init__(query_size, key_size, attention_size)
        size = self.direction.shape[0]
        self.query_projection = nn.Linear(query_size, size, bias=False)


class MultiHead(Attention):
    """softmax(q k^T / sqrt(E)) v in several heads: Vaswani et al. 2017, 3.2.2.

    Args:
        query_size: width of a query.
        key_size: width of a source state.
        num_heads: H; divides ``attention_size``.
        attention_size: width of all heads together; ``query_size`` by default.
        causal: hide the keys in a query's future.
        bias: whether the projections have one.
    """

    fusible = True

    def __init__(
        self,
        query_size: int,
        key_size: int,
        num_heads: int = 4,
        attention_size: int | None = None,
        causal: bool = False,
        bias: bool = True,
    ) -> None:
        super().__init__(query_size, key_size)
        size = attention_size or query_size
        if num_heads < 1 or size % num_heads:
            raise ValueError(f"num_heads: expected a divisor of attention_size={size}, got {num_heads}")
        self.num_heads = num_heads
        self.head_size = size // num_heads
        self.causal = causal
        self.context_size = query_size
        self.query_projection = nn.Linear(query_size, size, bias=bias)
        self.key_value_projection = nn.Linear(key_size, 2 * size, bias=bias)
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
        return states.unflatten(-1, (self.num_heads, self.head_size)).transpose(1, 2)

    def prepare(self, states: Tensor, mask: Tensor | None = None) -> Memory:
        self._check_states(states, mask)
        keys, values = self.key_value_projection(states).chunk(2, dim=-1)
        return Memory(self.split(keys), self.split(values), mask)

    def prepare_self(self, states: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Memory]:
        """Queries (B, H, T, E) and memory of states that attend to themselves, by one matrix product."""
        self._check_states(states, mask)
        query_layer, memory_layer = self.query_projection, self.key_value_projection
        weight = torch.cat([query_layer.weight, memory_layer.weight])
        bias = None if query_layer.bias is None else torch.cat([query_layer.bias, memory_layer.bias])
        query, keys, values = F.linear(states, weight, bias).chunk(3, dim=-1)
        return self.split(query), Memory(self.split(keys), self.split(values), mask)

    def scores(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        return scaled_dot_scores(self.split(self.query_projection(query)), memory.keys)  # (B, H, T, S)

    def merge(self, context: Tensor) -> Tensor:
        return self.output_projection(super().merge(context))

    def fused(self, query: Tensor, memory: Memory) -> Tensor:
        return self.attend(self.split(self.query_projection(query)), memory)

    def attend(self, query: Tensor, memory: Memory) -> Tensor:
        """The fused path for queries that are projected and split: (B, H, T, E) -> (B, T, query_size)."""
        return self.merge(
            fused_attention(query, memory.keys, memory.values, mask=memory.mask, causal=self.causal)
        )


class ScaledDot(MultiHead):
    """softmax(q k^T / sqrt(d)) v with one head: Vaswani et al. 2017, eq. 1."""

    def __init__(self, query_size: int, key_size: int, attention_size: int | None = None) -> None:
        super().__init__(query_size, key_size, 1, attention_size)
