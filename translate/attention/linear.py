"""Attention in linear time: keys and values are written into a matrix of constant size.

To a source, the matrix is written once and every query reads all of it. Within a sequence (``causal``)
query t reads what the positions up to t wrote: chunk by chunk in parallel, or step by step with the matrix as
cache.

Shapes: B batch, H heads, S keys, T queries, L positions of one sequence, E width and F features of a head.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from translate.attention.contract import register
from translate.attention.dot_product import Heads, MultiHead, Turn
from translate.attention.functional import dot_scores, dpfp_features, elu_features, normalise
from translate.attention.memory import Memory
from translate.attention.path_cache import LayerCache, PathCache
from translate.config.option_groups import NumHeads, Width, flat_options, option_group

CHUNK = 64  # positions whose queries and keys are multiplied directly


@dataclass(frozen=True, kw_only=True)
class FastMemory(Memory):
    """Memory whose keys are features, (B, H, S, F), zero where padded, with the matrix of all keys."""

    written: Tensor | None = None  # (B, H, F, E or E + 1), for queries that see every key
    strength: Tensor | None = None  # (B, H, S), of the delta rule

    def chunks(self) -> Iterator["FastMemory"]:
        """The memory in parts of ``CHUNK`` positions, nothing written yet."""
        parts = [part.split(CHUNK, 2) for part in (self.keys, self.values, self.strength) if part is not None]
        for keys, values, *strength in zip(*parts, strict=True):
            yield FastMemory(keys, values, strength=strength[0] if strength else None)


@option_group
@dataclass(frozen=True)
class FastHeads:
    """The options of :class:`Heads` that a matrix of constant size has.

    Attributes:
        num_heads: number of heads; divides ``attention_size``; the greatest of 4, 2 and 1 if ``None``.
        attention_size: width of all heads together; ``query_size`` if ``None``.
        bias: whether the projections have a bias.
        kernel: ``auto`` takes linear time, ``explicit`` computes the weights.
    """

    num_heads: NumHeads | None = None
    attention_size: Width | None = None
    bias: bool = True
    kernel: str = "auto"


FAST_HEADS = FastHeads()


class FastWeights(MultiHead):
    """Base of both rules, which differ in what a key changes in the matrix."""

    kernels = ("auto", "explicit")
    refusal = "it has a linear-time form of its own"

    @flat_options
    def __init__(
        self, query_size: int, key_size: int, heads: FastHeads = FAST_HEADS, *, causal: bool = False
    ) -> None:
        super().__init__(query_size, key_size, Heads(**vars(heads)), causal=causal)

    def features(self, states: Tensor) -> Tensor:
        """The features that compare queries with keys: (..., E) -> (..., F)."""
        raise NotImplementedError

    def strengths(self, states: Tensor) -> Tensor | None:
        """How strongly each state is written, (B, H, S), if that differs."""
        return None

    def change(self, written: Tensor, chunk: FastMemory) -> Tensor:
        """What each key of a chunk adds to the row of its features: (B, H, C, E or E + 1)."""
        raise NotImplementedError

    def finish(self, read: Tensor) -> Tensor:
        """The context (B, H, T, E) from what queries have read of the matrix."""
        return read

    def memorise(self, keys: Tensor, values: Tensor, states: Tensor, mask: Tensor | None) -> FastMemory:
        """Memory of split keys and values (B, H, S, E), written if queries see every key."""
        features = self.features(keys)
        if mask is not None:
            features = features * mask[:, None, :, None].to(features.dtype)
        memory = FastMemory(features, values, mask, strength=self.strengths(states))
        if self.causal:
            return memory
        return replace(memory, written=self.write(memory, self.start_self(len(values), values)))

    def write(self, memory: FastMemory, written: Tensor) -> Tensor:
        """The matrix after all keys, from that before them."""
        for chunk in memory.chunks():
            written = written + chunk.keys.transpose(-2, -1) @ self.change(written, chunk)
        return written

    def read(self, query: Tensor, memory: FastMemory) -> Tensor:
        """Features (B, H, T, F) that see every key, or with ``causal`` those up to their own position.

        Returns:
            Context (B, H, T, E).
        """
        if memory.written is not None:
            return self.finish(query @ memory.written.to(query.dtype))
        written, read = self.start_self(len(query), memory.values), []
        for rows, chunk in zip(query.split(CHUNK, 2), memory.chunks(), strict=True):
            change = self.change(written, chunk)
            read.append(rows @ written + (rows @ chunk.keys.transpose(-2, -1)).tril() @ change)
            written = written + chunk.keys.transpose(-2, -1) @ change
        return self.finish(torch.cat(read, 2))

    def prepare(self, states: Tensor, mask: Tensor | None = None) -> FastMemory:
        plain = super().prepare(states, mask)
        return self.memorise(plain.keys, plain.values, states, mask)

    def queries(self, query: Tensor) -> Tensor:
        return self.features(super().queries(query))

    def scores(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        return dot_scores(self.queries(query), memory.keys)

    def fused(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        assert isinstance(memory, FastMemory)
        num_keys = memory.keys.shape[2]
        if self.causal and query.shape[1] != num_keys:
            raise ValueError(f"causal: expected as many queries as keys, {num_keys}, got {query.shape[1]}")
        return self.merge(self.read(self.queries(query), memory))

    def start_paths(self, num_layers: int, num_sentences: int, like: Tensor) -> PathCache | None:
        return None  # hypotheses share no matrix

    def attend_self(self, states: Tensor, mask: Tensor | None = None, turn: Turn | None = None) -> Tensor:
        return self.merge(self.read(*self._prepare_features(states, mask, turn, 0)))

    def step_self(
        self, states: Tensor, cache: Tensor | LayerCache, position: int | Tensor, turn: Turn | None = None
    ) -> tuple[Tensor, Tensor | LayerCache]:
        assert isinstance(cache, Tensor)
        query, memory = self._prepare_features(states, None, turn, position)
        cache = self.write(memory, cache)
        return self.merge(self.finish(query @ cache)), cache

    def _prepare_features(
        self, states: Tensor, mask: Tensor | None, turn: Turn | None, position: int | Tensor
    ) -> tuple[Tensor, FastMemory]:
        query, plain = super().queries(states), super().prepare(states, mask)
        keys = plain.keys
        if turn is not None:
            query, keys = turn(query, position), turn(keys, position)
        return self.features(query), self.memorise(keys, plain.values, states, mask)


@register("linear")
class Linear(FastWeights):
    """sum_j f(q)^T f(k_j) v_j / sum_j f(q)^T f(k_j), f = elu + 1: Katharopoulos et al. 2020, eq. 5, 7 and 9.

    One matrix (F, E + 1) holds the numerator's sum of f(k_j) v_j^T and the denominator's of f(k_j): the fast
    weights of Schlag et al. 2021, eq. 17 and 18, written by adding.

    Args:
        query_size: width of a query.
        key_size: width of a source state.
        heads: see :class:`FastHeads`.
        causal: as :class:`MultiHead`.
    """

    def features(self, states: Tensor) -> Tensor:
        return elu_features(states)

    def align(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        return normalise(self.scores(query, memory), self.visible(query, memory))

    def change(self, written: Tensor, chunk: FastMemory) -> Tensor:
        # A last column of ones, so that one product sums the numerator and the denominator.
        return F.pad(chunk.values, (0, 1), value=1.0)

    def finish(self, read: Tensor) -> Tensor:
        """The numerator over the denominator; zeros where nothing was written."""
        total = read[..., -1:]
        return read[..., :-1] / torch.where(total > 0, total, 1.0)

    def start_self(self, num_rows: int, like: Tensor) -> Tensor:
        """The matrix before the first position: (N, H, F, E + 1)."""
        return like.new_zeros(num_rows, self.num_heads, self.head_size, self.head_size + 1)


@register("delta")
class Delta(FastWeights):
    """W f(q), W_i = W_{i-1} + b_i (v_i - W_{i-1} f(k_i)) f(k_i)^T, the delta rule: Schlag et al. 2021, 4.2.

    A key moves the value that it reads towards its own by b_i = sigmoid(w^T h_i), so that later keys correct
    earlier ones. f is the paper's deterministic parameter-free projection (5.3) with
    nu = 1, summing to 1. The weights, which are the coefficients of the values in the context, are
    f(q)^T f(k_i) b_i times the inverse of I + tril(f(k_i)^T f(k_j) b_j, -1); they may be negative, and do not
    sum to 1.

    Args:
        query_size: width of a query.
        key_size: width of a source state.
        heads: see :class:`FastHeads`.
        causal: as :class:`MultiHead`.
    """

    @flat_options
    def __init__(
        self, query_size: int, key_size: int, heads: FastHeads = FAST_HEADS, *, causal: bool = False
    ) -> None:
        super().__init__(query_size, key_size, heads, causal=causal)
        self.strength_projection = nn.Linear(key_size, self.num_heads)

    def features(self, states: Tensor) -> Tensor:
        return dpfp_features(states)

    def strengths(self, states: Tensor) -> Tensor:
        return torch.sigmoid(self.strength_projection(states)).transpose(1, 2)  # (B, H, S)

    def align(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        assert isinstance(memory, FastMemory)
        assert memory.strength is not None
        scores, visible = self.scores(query, memory), self.visible(query, memory)
        scores = scores if visible is None else scores.masked_fill(~visible, 0.0)
        scores = scores * memory.strength.unsqueeze(2)
        return _solve(_corrections(memory.keys, memory.strength), scores, left=False)

    def change(self, written: Tensor, chunk: FastMemory) -> Tensor:
        """b_i (v_i - W_{i-1} k_i), by one solve.

        Yang et al. 2024, 3.2: with u_i = v_i - W_{i-1} k_i, (I + tril(k_i^T k_j b_j, -1)) u = v - K W.
        """
        assert chunk.strength is not None
        missing = chunk.values - chunk.keys @ written.to(chunk.keys.dtype)
        if missing.shape[2] > 1:  # a lone key, as in a step of a search, has no others beside it
            missing = _solve(_corrections(chunk.keys, chunk.strength), missing)
        return missing * chunk.strength.unsqueeze(-1)

    def start_self(self, num_rows: int, like: Tensor) -> Tensor:
        """The matrix before the first position: (N, H, F, E)."""
        return like.new_zeros(num_rows, self.num_heads, 2 * self.head_size, self.head_size)


def _corrections(keys: Tensor, strength: Tensor) -> Tensor:
    """I + tril(f(k_i)^T f(k_j) b_j, -1), (B, H, C, C), without its unit diagonal, which solves imply."""
    return (keys @ keys.transpose(-2, -1) * strength.unsqueeze(2)).tril(-1)


def _solve(lower: Tensor, right: Tensor, *, left: bool = True) -> Tensor:
    """(I + lower)^-1 right, or right (I + lower)^-1; torch has no such solve in half precision."""
    dtype = torch.promote_types(right.dtype, torch.float32)
    solved = torch.linalg.solve_triangular(
        lower.to(dtype), right.to(dtype), upper=False, left=left, unitriangular=True
    )
    return solved.to(right.dtype)
