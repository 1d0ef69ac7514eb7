"""The attention contract and the mechanisms that score by content alone.

Every mechanism is four steps: keys and values (``prepare``), score (``scores``), align (``align``, a softmax)
and weight (``weight``, the weighted sum). ``Attention.forward`` is written once; a mechanism gives the first
two.

Shapes: B batch, S source, T target, H heads, E width of a head, A width of the attention layer.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from translate.attention.functional import additive_scores, dot_scores, masked_softmax
from translate.attention.fused import additive_kernel, few_scores, fused_attention
from translate.attention.kernels import ADDITIVE_KERNELS, KERNELS, check_kernel
from translate.attention.masks import Pattern, check_mask
from translate.attention.memory import Memory
from translate.attention.recompute import chunked_additive_scores, compiled_additive_scores


class Attention(nn.Module):
    """One attention mechanism: ``forward(query, memory)`` gives the context, and weights on request.

    Args:
        query_size: width of a query.
        key_size: width of a source state.
    """

    num_heads = 1
    fusible = False  # whether `fused` computes the context without writing the weights down
    kernel = "auto"  # of `fused`
    dropout = 0.0  # probability that a weight is dropped in training; weights are shown as they were before
    stateful = False  # whether a step needs the weights of those before it, so that queries come one by one
    positioned = False  # whether scores depend on the place of the query
    reads_embedding = (
        False  # whether a query starts with the embedding of the last target token, where it is known
    )
    causal = False  # hide the keys in a query's future (self-attention of a decoder)
    context_size: int  # width of the context

    def __init__(self, query_size: int, key_size: int) -> None:
        super().__init__()
        for name, size in (("query_size", query_size), ("key_size", key_size)):
            if size < 1:
                raise ValueError(f"{name}: expected at least 1, got {size}")
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
        """The state of N = B * ``num_queries`` hypotheses before the first step, if there is one."""
        if not self.positioned:
            return None
        return torch.zeros(memory.keys.shape[0] * num_queries, dtype=torch.int64, device=memory.keys.device)

    def advance(self, state: Any, weights: Tensor | None) -> Any:
        """The state after a step that gave ``weights`` (B, H, W, S)."""
        return state + 1 if self.positioned else state

    def forward(
        self, query: Tensor, memory: Memory, *, need_weights: bool = False, state: Any = None
    ) -> tuple[Tensor, Tensor | None]:
        """Attend: context (B, T, context_size), and weights (B, H, T, S) if they are wanted.

        Args:
            query: (B, T, query_size).
            memory: of :meth:`prepare`.
            need_weights: take the explicit path, which writes the weights down, in float32 at the least.
            state: ``None``: the queries are T target places, from the first. A state of N = B T hypotheses:
                each query is one step of its hypothesis.
        """
        self._check_query(query, memory)
        if self.stateful and state is None:
            return self._one_by_one(query, memory, need_weights)
        if not need_weights and self.fuses(query, memory):
            return self.fused(query, memory, state), None
        if not need_weights:
            return self.attend(query, memory, state)[0], None
        return self.attend(query, memory, state, exact=True)

    def fuses(self, query: Tensor, memory: Memory) -> bool:
        """Whether weights that nobody asks for are not written down."""
        if not self.fusible or self.kernel == "explicit":
            return False
        return self.kernel != "auto" or not few_scores(query, memory.keys)

    def attend(
        self, query: Tensor, memory: Memory, state: Any = None, *, exact: bool = False
    ) -> tuple[Tensor, Tensor]:
        """The explicit path: context and weights; ``exact`` weights are computed in float32 at the least."""
        device = query.device.type
        if not exact:
            weights = self.align(query, memory, state)
        else:
            if torch.is_autocast_enabled(device):
                query = query.float()
            with torch.autocast(device, enabled=False):
                weights = self.align(query, memory.precise(), state)
        return self.weight(F.dropout(weights, self.dropout, self.training), memory), weights

    def align(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        """The scores, normalised over the visible keys: weights (B, H, T, S)."""
        return masked_softmax(self.scores(query, memory, state), self.visible(query, memory, state))

    def visible(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor | None:
        """Which keys each query sees, broadcastable to (B, H, T, S); ``None`` if all."""
        num_queries, num_keys = query.shape[1], memory.keys.shape[2]
        return self.pattern(num_queries, memory, state).visible(num_queries, num_keys, query.device)

    def pattern(self, num_queries: int, memory: Memory, state: Any = None) -> Pattern:
        """Padding, causality and what else hides keys, for T queries."""
        start = memory.keys.shape[2] - num_queries if self.causal else 0
        return Pattern(memory.mask, self.causal, start=start)

    def weight(self, weights: Tensor, memory: Memory) -> Tensor:
        """The weighted sum of the values: (B, H, T, S) -> (B, T, context_size)."""
        return self.merge(weights.to(memory.values.dtype) @ memory.values)

    def merge(self, context: Tensor) -> Tensor:
        """Heads side by side: (B, H, T, E') -> (B, T, H E')."""
        return context.transpose(1, 2).flatten(2)

    def transformed_values(self, memory: Memory) -> Tensor:
        """What each key adds to the context by each head at weight 1: (B, H, S, context_size).

        The f(x) of Kobayashi et al. 2020, 2.3: sum_h sum_s weights[h, s] f_h(x_s), with the merge's bias, is
        the context of :meth:`weight`, which must be linear in the weights.
        """
        batch, _, length, _ = memory.values.shape
        each = torch.eye(length, dtype=memory.values.dtype, device=memory.values.device)
        weights = each.new_zeros(batch, self.num_heads, length, length)
        nothing = self.weight(weights, memory)
        found = []
        for head in range(self.num_heads):
            alone = weights.clone()
            alone[:, head] = each
            found.append(self.weight(alone, memory) - nothing)
        return torch.stack(found, 1)

    def fused(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        """The context by a kernel that never holds the weights."""
        raise NotImplementedError

    def places(self, num_queries: int, memory: Memory, state: Tensor | None) -> Tensor:
        """The place of each query: (1 or B, T) int64."""
        if state is None:
            return torch.arange(num_queries, device=memory.keys.device).unsqueeze(0)
        return state.view(memory.keys.shape[0], -1)

    def _one_by_one(self, query: Tensor, memory: Memory, need_weights: bool) -> tuple[Tensor, Tensor | None]:
        state = self.initial_state(memory, 1)
        contexts, rows = [], []
        for step in query.split(1, dim=1):
            context, weights = self(step, memory, need_weights=True, state=state)
            state = self.advance(state, weights)
            contexts.append(context)
            rows.append(weights)
        return torch.cat(contexts, 1), torch.cat(rows, 2) if need_weights else None

    def _check_states(self, states: Tensor, mask: Tensor | None) -> None:
        if states.dim() != 3 or states.shape[-1] != self.key_size:
            raise ValueError(f"states: expected (B, S, {self.key_size}), got {tuple(states.shape)}")
        check_mask(mask, states)

    def _check_query(self, query: Tensor, memory: Memory) -> None:
        batch = memory.keys.shape[0]
        if query.dim() != 3 or query.shape[-1] != self.query_size or query.shape[0] != batch:
            raise ValueError(f"query: expected ({batch}, T, {self.query_size}), got {tuple(query.shape)}")


class Additive(Attention):
    """v^T tanh(W q + U k): Bahdanau et al. 2015, A.1.2.

    Args:
        query_size: width of a query.
        key_size: width of a source state.
        attention_size: A, width of the hidden layer; ``query_size`` by default.
        kernel: ``chunked`` or ``compiled``, which hold no (B, T, S, A); ``explicit``, which does; ``auto``.
    """

    def __init__(
        self, query_size: int, key_size: int, attention_size: int | None = None, kernel: str = "auto"
    ) -> None:
        super().__init__(query_size, key_size)
        size = check_size("attention_size", attention_size, query_size)
        why = "its score is no dot product"
        self.kernel = check_kernel(kernel, type(self).__name__, ADDITIVE_KERNELS, why)
        self.query_projection = nn.Linear(query_size, size)
        self.key_projection = nn.Linear(key_size, size, bias=False)  # W's bias already shifts the sum
        self.direction = nn.Parameter(torch.empty(size))
        nn.init.uniform_(self.direction, -(size**-0.5), size**-0.5)

    def prepare(self, states: Tensor, mask: Tensor | None = None) -> Memory:
        self._check_states(states, mask)
        return Memory(self.key_projection(states).unsqueeze(1), states.unsqueeze(1), mask)

    def scores(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        keys = memory.keys.squeeze(1)
        projected = self.query_projection(query).to(keys.dtype)
        return self.energy(projected, keys).unsqueeze(1)  # (B, 1, T, S)

    def energy(self, query: Tensor, keys: Tensor) -> Tensor:
        """The scores of projected queries (B, T, A) and keys (B, S, A) by the chosen kernel: (B, T, S)."""
        kernel = additive_kernel(self.kernel, keys)
        score = {"chunked": chunked_additive_scores, "compiled": compiled_additive_scores}
        return score.get(kernel, additive_scores)(query, keys, self.direction)


class Concat(Additive):
    """v^T tanh(W [q; k]): Luong et al. 2015, eq. 8, concat.

    W [q; k] is the sum of two projections, so this is the additive score without a bias.
    """

    def __init__(
        self, query_size: int, key_size: int, attention_size: int | None = None, kernel: str = "auto"
    ) -> None:
        super().__init__(query_size, key_size, attention_size, kernel)
        self.query_projection = nn.Linear(query_size, self.direction.shape[0], bias=False)


class DotProduct(Attention):
    """What mechanisms share whose scores are dot products: torch's kernels compute their contexts."""

    fusible = True
    scale: float | None = 1.0  # None: 1 / sqrt(E)
    kernels: tuple[str, ...] = KERNELS
    refusal = ""  # why not all kernels are in `kernels`

    def choose_kernel(self, kernel: str) -> None:
        """Note which kernel `fused` runs; raises ``ValueError`` if it never can."""
        self.kernel = check_kernel(kernel, type(self).__name__, self.kernels, self.refusal)

    def choose_dropout(self, dropout: float) -> None:
        """Note the dropout of the weights; raises ``ValueError`` where a kernel cannot have it."""
        if not 0.0 <= dropout < 1.0:
            raise ValueError(f"dropout: expected a probability in [0, 1), got {dropout}")
        if dropout and self.kernel not in ("auto", "explicit"):
            raise ValueError(
                f"kernel: {self.kernel} cannot run with dropout={dropout}; auto and explicit can"
            )
        self.dropout = dropout

    def queries(self, query: Tensor) -> Tensor:
        """Projected and in heads: (B, T, query_size) -> (B, H, T, E)."""
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


class Dot(DotProduct):
    """q^T k: Luong et al. 2015, eq. 8, dot. Needs queries as wide as the source states.

    Args:
        query_size: width of a query.
        key_size: width of a source state, the same.
        kernel: see ``translate doctor``.
    """

    def __init__(self, query_size: int, key_size: int, kernel: str = "auto") -> None:
        super().__init__(query_size, key_size)
        if query_size != key_size:
            raise ValueError(
                f"dot attention needs query_size == key_size, got {query_size} and {key_size}; use general"
            )
        self.choose_kernel(kernel)


class General(DotProduct):
    """q^T W k: Luong et al. 2015, eq. 8, general; W is applied to the keys, once a sentence.

    Args:
        query_size: width of a query.
        key_size: width of a source state.
        kernel: see ``translate doctor``.
    """

    def __init__(self, query_size: int, key_size: int, kernel: str = "auto") -> None:
        super().__init__(query_size, key_size)
        self.choose_kernel(kernel)
        self.key_projection = nn.Linear(key_size, query_size, bias=False)

    def prepare(self, states: Tensor, mask: Tensor | None = None) -> Memory:
        self._check_states(states, mask)
        return Memory(self.key_projection(states).unsqueeze(1), states.unsqueeze(1), mask)


def check_size(name: str, value: int | None, default: int, least: int = 1) -> int:
    """``value`` or its default; raises ``ValueError`` below ``least``."""
    if value is None:
        return default
    if value < least:
        raise ValueError(f"{name}: expected at least {least}, got {value}")
    return value
