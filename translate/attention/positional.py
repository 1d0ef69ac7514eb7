"""Weights from the query alone or from places alone: nothing is compared with the source.

Each has rows of a fixed length. Of a longer source the words past ``max_length`` are left out, as Luong et
al. do; a target past it uses the last row.

Shapes: B batch, S source, T target, M max_length.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from translate.attention.mechanisms import Attention, check_size
from translate.attention.memory import Memory


class _FixedLength(Attention):
    """Scores for source places 0 .. M - 1."""

    def __init__(self, query_size: int, key_size: int, max_length: int) -> None:
        super().__init__(query_size, key_size)
        self.max_length = check_size("max_length", max_length, max_length)

    def rows(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        """A score for each source place that there is: (B or 1, T, M)."""
        raise NotImplementedError

    def scores(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        rows = self.rows(query, memory, state)
        length = memory.keys.shape[2]
        fitted = F.pad(rows[..., :length], (0, max(0, length - self.max_length)))  # (B or 1, T, S)
        return fitted.expand(query.shape[0], -1, -1).unsqueeze(1).to(memory.keys.dtype)

    def visible(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor | None:
        length = memory.keys.shape[2]
        seen = None if memory.mask is None else memory.mask[:, None, None, :]
        if length <= self.max_length:
            return seen
        covered = torch.arange(length, device=query.device) < self.max_length
        return covered if seen is None else seen & covered


class Location(_FixedLength):
    """softmax(W_a q_t), source places scored from the query alone: Luong et al. 2015, eq. 8, location.

    Args:
        query_size: width of a query.
        key_size: width of a source state.
        max_length: M; source words from there on are left out.
    """

    bias = False

    def __init__(self, query_size: int, key_size: int, max_length: int = 128) -> None:
        super().__init__(query_size, key_size, max_length)
        self.score_projection = nn.Linear(query_size, self.max_length, bias=self.bias)

    def rows(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        return self.score_projection(query)


class FullyConnected(Location):
    """softmax(W [y_{t-1}; s_t] + b) over a fixed number of places: the PyTorch sequence-to-sequence tutorial.

    A query is the embedding of the last target token beside the decoder's state; recurrent decoders give
    both, in the Transformer the state holds the embedding already. Deviation: the tutorial's softmax also
    runs over places after the end of the sentence.

    Args:
        query_size: width of a query.
        key_size: width of a source state.
        max_length: M; source words from there on are left out.
    """

    bias = True
    reads_embedding = True


class Positional(_FixedLength):
    """softmax(R[t]), a learned matrix of target and source places: Tay et al. 2021, 3.2, random Synthesizer.

    Args:
        query_size: width of a query; what it holds is not read.
        key_size: width of a source state.
        max_length: M; source words from there on are left out, target places share the last row.
    """

    positioned = True

    def __init__(self, query_size: int, key_size: int, max_length: int = 128) -> None:
        super().__init__(query_size, key_size, max_length)
        self.place_scores = nn.Parameter(torch.randn(self.max_length, self.max_length))

    def rows(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        return self.place_scores[self.places(query.shape[1], memory, state).clamp_max(self.max_length - 1)]


class FactorizedPositional(_FixedLength):
    """softmax(R_1[t] R_2^T), places in a low rank: Tay et al. 2021, 3.2, factorized random Synthesizer.

    Args:
        query_size: width of a query; what it holds is not read.
        key_size: width of a source state.
        max_length: M; as :class:`Positional`.
        rank: width of R_1 and R_2, M places each.
    """

    positioned = True

    def __init__(self, query_size: int, key_size: int, max_length: int = 128, rank: int = 8) -> None:
        super().__init__(query_size, key_size, max_length)
        self.rank = check_size("rank", rank, rank)
        self.target_places = nn.Parameter(torch.randn(self.max_length, rank) * rank**-0.25)
        self.source_places = nn.Parameter(torch.randn(self.max_length, rank) * rank**-0.25)

    def rows(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        rows = self.places(query.shape[1], memory, state).clamp_max(self.max_length - 1)
        return self.target_places[rows] @ self.source_places.t()
