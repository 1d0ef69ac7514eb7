"""Additive attention that knows what it has read.

Shapes: B batch, S source, W hypotheses a sentence, N = B W, A width of the attention layer.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from translate.attention.functional import additive_scores
from translate.attention.mechanisms import Additive
from translate.attention.memory import Memory


@dataclass(frozen=True, kw_only=True)
class CoverageMemory(Memory):
    """Memory with the number of target words that each source word is expected to give."""

    fertility: Tensor  # (B, S)


class Coverage(Additive):
    """v^T tanh(W q + U k_j + u C_j), C_j = (sum of a_j so far) / Phi_j: Tu et al. 2016, 3.1, linguistic.

    Phi_j = N sigmoid(w^T h_j) is the fertility of source word j. The state is the sum of the weights so far,
    (N, S); it makes queries depend on those before, so they run one by one.

    Args:
        query_size: width of a query.
        key_size: width of a source state.
        attention_size: A; ``query_size`` by default.
        max_fertility: N.
    """

    stateful = True

    def __init__(
        self, query_size: int, key_size: int, attention_size: int | None = None, max_fertility: float = 2.0
    ) -> None:
        super().__init__(query_size, key_size, attention_size)
        if max_fertility <= 0:
            raise ValueError(f"max_fertility: expected a number above 0, got {max_fertility}")
        self.max_fertility = max_fertility
        size = self.direction.shape[0]
        self.fertility_projection = nn.Linear(key_size, 1, bias=False)
        self.coverage_direction = nn.Parameter(torch.empty(size).uniform_(-(size**-0.5), size**-0.5))

    def prepare(self, states: Tensor, mask: Tensor | None = None) -> CoverageMemory:
        memory = super().prepare(states, mask)
        fertility = self.max_fertility * torch.sigmoid(self.fertility_projection(states).squeeze(-1))
        return CoverageMemory(memory.keys, memory.values, mask, fertility=fertility)

    def initial_state(self, memory: Memory, num_queries: int) -> Tensor:
        return memory.keys.new_zeros(memory.keys.shape[0] * num_queries, memory.keys.shape[2])

    def advance(self, state: Any, weights: Tensor | None) -> Any:
        assert weights is not None
        return state + weights.flatten(0, 2).to(state.dtype)

    def scores(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        assert isinstance(memory, CoverageMemory)
        keys = memory.keys.squeeze(1)
        projected = self.query_projection(query).to(keys.dtype)
        coverage = state.to(keys.dtype).unflatten(0, (len(keys), -1)) / memory.fertility.unsqueeze(
            1
        )  # (B, W, S)
        covered = keys.unsqueeze(1) + coverage.unsqueeze(-1) * self.coverage_direction.to(keys.dtype)
        return additive_scores(projected, covered, self.direction).unsqueeze(1)  # (B, 1, W, S)
