"""Mechanisms whose scores are dot products, so that torch's kernels compute their contexts.

Shapes: B batch, S source, T target, H heads, E width of a head.
"""

from typing import Any

from torch import Tensor, nn

from translate.attention.contract import Attention, register
from translate.attention.functional import dot_scores
from translate.attention.kernels.fused import KERNELS, check_kernel, fused_attention
from translate.attention.memory import Memory, Pattern
from translate.errors import UserError


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
