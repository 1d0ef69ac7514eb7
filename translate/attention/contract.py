"""The contract of every attention mechanism, and the registry that finds a mechanism by its name.

A mechanism is four steps: keys and values (``prepare``), score (``scores``), align (``align``, a softmax) and
weight (``weight``, the weighted sum). :class:`Attention` implements all but the score.

Shapes: B batch, S source, T target, H heads, W hypotheses of a sentence, E' width of a value.
"""

import importlib
import pkgutil
from collections.abc import Callable
from typing import Any, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from translate.attention.functional import masked_softmax
from translate.attention.kernels.fused import fuses
from translate.attention.memory import Memory, Pattern, SourceParts, check_mask

# The methods that define what a mechanism computes.
DEFINING = {"prepare", "queries", "scores", "align", "visible", "pattern", "weight", "merge", "forward"}


class Attention(nn.Module):
    """One attention mechanism: ``forward(query, memory)`` gives the context, and weights on request.

    Args:
        query_size: width of a query.
        key_size: width of a source state.
    """

    num_heads = 1
    fusible = False  # whether `fused` computes the context without storing the weights
    kernel = "auto"  # of `fused`
    dropout = 0.0  # probability that a weight is dropped in training; returned weights are those before it
    stateful = False  # whether a step needs the weights of earlier steps, so that queries run one by one
    aligns = True  # whether its weights tell one source word from another
    positioned = False  # whether scores depend on the position of the query
    reads_embedding = False  # whether the query is [embedding of the last target token; decoder state]
    causal = False  # hide the keys in a query's future (self-attention of a decoder)
    attends_self = False  # whether it has `attend_self`, `start_self` and `step_self`
    num_sentences: int | None = None  # of a document that it distinguishes, if it can
    # "additive", "dot" or "multi_head", if the weights are a masked softmax of this score and nothing else: a
    # recurrent decoder may then run as one loop with a written gradient, and other engines have it.
    plain_score: str | None = None
    context_size: int  # width of the context

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__dict__.keys() & DEFINING and "plain_score" not in cls.__dict__:
            cls.plain_score = None  # it computes something else

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

    def prepare_parts(self, states: Tensor, mask: Tensor | None, parts: SourceParts) -> Memory:
        """:meth:`prepare`, for a mechanism that tells the parts of a source apart; others read them alike."""
        return self.prepare(states, mask)

    def scores(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        """The relevance of each key to each query: (B, T, query_size) -> (B, H, T, S)."""
        raise NotImplementedError

    def initial_state(self, memory: Memory) -> Any:
        """The state of the one hypothesis of each sentence before the first step, or ``None``."""
        if not self.positioned:
            return None
        return torch.zeros(memory.keys.shape[0], dtype=torch.int64, device=memory.keys.device)

    def advance(self, state: Any, weights: Tensor | None) -> Any:
        """The state after a step that gave ``weights`` (B, H, W, S)."""
        return state + 1 if self.positioned else state

    def forward(
        self, query: Tensor, memory: Memory, *, need_weights: bool = False, state: Any = None
    ) -> tuple[Tensor, Tensor | None]:
        """Attend: context (B, T, context_size), and weights (B, H, T, S) on request.

        Args:
            query: (B, T, query_size).
            memory: of :meth:`prepare`.
            need_weights: take the explicit path, which computes the weights in float32 or float64.
            state: ``None`` if the queries are T target positions from the first on. With the state of
                N = B T hypotheses, each query is one step of its hypothesis.
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
        """Whether a call that needs no weights takes the fused path."""
        return self.fusible and fuses(self.kernel, query, memory.keys)

    def attend(
        self, query: Tensor, memory: Memory, state: Any = None, *, exact: bool = False
    ) -> tuple[Tensor, Tensor]:
        """The explicit path: context and weights; ``exact`` widens half precision to float32."""
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
        """The keys that each query sees, broadcastable to (B, H, T, S); ``None`` if all."""
        num_queries, num_keys = query.shape[1], memory.keys.shape[2]
        return self.pattern(num_queries, memory, state).visible(num_queries, num_keys, query.device)

    def pattern(self, num_queries: int, memory: Memory, state: Any = None) -> Pattern:
        """Padding, causality, window and distance bias for T queries."""
        start = memory.keys.shape[2] - num_queries if self.causal else 0
        return Pattern(memory.mask, self.causal, start=start)

    def weight(self, weights: Tensor, memory: Memory) -> Tensor:
        """The weighted sum of the values: (B, H, T, S) -> (B, T, context_size)."""
        return self.merge(weights.to(memory.values.dtype) @ memory.values)

    def merge(self, context: Tensor) -> Tensor:
        """Join the heads: (B, H, T, E') -> (B, T, H E')."""
        return context.transpose(1, 2).flatten(2)

    def transformed_values(self, memory: Memory) -> Tensor:
        """The context that a key adds through each head at weight 1: (B, H, S, context_size).

        The f(x) of Kobayashi et al. 2020, 2.3: sum_h sum_s weights[h, s] f_h(x_s), plus the bias of the
        merge, is the context of :meth:`weight`, which must be linear in the weights.
        """
        batch, _, length, _ = memory.values.shape
        unit = torch.eye(length, dtype=memory.values.dtype, device=memory.values.device)
        weights = unit.new_zeros(batch, self.num_heads, length, length)
        bias = self.weight(weights, memory)
        values = []
        for head in range(self.num_heads):
            alone = weights.clone()
            alone[:, head] = unit
            values.append(self.weight(alone, memory) - bias)
        return torch.stack(values, 1)

    def fused(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        """The context by a kernel that never holds the weights."""
        raise NotImplementedError

    def query_positions(self, num_queries: int, memory: Memory, state: Tensor | None) -> Tensor:
        """The position of each query: (1 or B, T) int64."""
        if state is None:
            return torch.arange(num_queries, device=memory.keys.device).unsqueeze(0)
        return state.view(memory.keys.shape[0], -1)

    def _one_by_one(self, query: Tensor, memory: Memory, need_weights: bool) -> tuple[Tensor, Tensor | None]:
        state = self.initial_state(memory)
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


Mechanism = TypeVar("Mechanism", bound=type[Attention])
_MECHANISMS: dict[str, type[Attention]] = {}


def register(name: str) -> Callable[[Mechanism], Mechanism]:
    """Class decorator: make a mechanism known by ``name``, as ``conf/model/attention/NAME.yaml`` calls it."""

    def decorate(mechanism: Mechanism) -> Mechanism:
        known = _MECHANISMS.setdefault(name, mechanism)
        if (known.__module__, known.__name__) != (mechanism.__module__, mechanism.__name__):
            raise ValueError(f"attention {name!r}: the name belongs to {known.__module__}.{known.__name__}")
        _MECHANISMS[name] = mechanism
        return mechanism

    return decorate


def mechanisms() -> dict[str, type[Attention]]:
    """The class of every registered mechanism by its name; a new file of this package needs no import."""
    package = importlib.import_module(__package__)
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
    return dict(sorted(_MECHANISMS.items()))


def names() -> list[str]:
    """The names that :func:`create` knows."""
    return list(mechanisms())


def create(name: str, *, query_size: int, key_size: int, **options: object) -> Attention:
    """Build a mechanism without Hydra.

    Raises:
        ValueError: for a name or an option that does not exist, or sizes that do not fit.
    """
    known = mechanisms()
    if name not in known:
        raise ValueError(f"no attention mechanism {name!r}; there are {', '.join(known)}")
    try:
        return known[name](query_size, key_size, **options)
    except TypeError as error:
        raise ValueError(f"attention {name}: {error}") from error


def check_size(name: str, value: int | None, default: int, least: int = 1) -> int:
    """``value`` or its default; raises ``ValueError`` below ``least``."""
    if value is None:
        return default
    if value < least:
        raise ValueError(f"{name}: expected at least {least}, got {value}")
    return value
