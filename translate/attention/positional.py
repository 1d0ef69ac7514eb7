"""Weights from the query alone or from positions alone: nothing is compared with the source.

The rows of scores have a fixed length. A longer source loses the words past ``max_length``, as in Luong et
al.; a longer target uses the last row.

Shapes: B batch, S source, T target, M max_length.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from translate.attention.contract import Attention, check_size, register
from translate.attention.memory import Memory
from translate.config.option_groups import NumPositions, Width


class _FixedLength(Attention):
    """Scores of the source positions 0 .. M - 1."""

    def __init__(self, query_size: int, key_size: int, max_length: int) -> None:
        super().__init__(query_size, key_size)
        self.max_length = check_size("max_length", max_length, max_length)

    def rows(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        """The scores of the M source positions: (B or 1, T, M)."""
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


@register("location")
class Location(_FixedLength):
    """softmax(W_a q_t), source positions scored from the query alone: Luong et al. 2015, eq. 8, location.

    Args:
        query_size: width of a query.
        key_size: width of a source state.
        max_length: M; later source words are left out.
    """

    bias = False

    def __init__(self, query_size: int, key_size: int, max_length: NumPositions = 128) -> None:
        super().__init__(query_size, key_size, max_length)
        self.score_projection = nn.Linear(query_size, self.max_length, bias=self.bias)

    def rows(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        return self.score_projection(query)


@register("fixed")
class FixedVector(Attention):
    """h_S, one vector of the whole source, whatever the query: Sutskever et al. 2014, 2.

    The translator before attention, for comparison: all weight is on the last state. Deviation: in the
    paper the vector only starts the decoder, which here reads it at every step, as in Cho et al. 2014.
    """

    aligns = False

    def scores(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        batch, _, length, _ = memory.keys.shape
        return memory.keys.new_zeros(batch, 1, query.shape[1], length)

    def visible(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        places = torch.arange(memory.keys.shape[2], device=query.device)
        seen = places >= 0 if memory.mask is None else memory.mask
        last = torch.where(seen, places, -1).amax(-1, keepdim=True)  # (B, 1), -1 where nothing is visible
        return (places == last).view(-1, 1, 1, len(places))


@register("fully_connected")
class FullyConnected(Location):
    """softmax(W [y_{t-1}; s_t] + b) over M source positions: the PyTorch sequence-to-sequence tutorial.

    A query joins the embedding of the last target token and the decoder's state. Recurrent decoders give
    both; in the Transformer the state holds the embedding already. Deviation: the tutorial's softmax also
    runs over positions after the end of the sentence.

    Args:
        query_size: width of a query.
        key_size: width of a source state.
        max_length: M; later source words are left out.
    """

    bias = True
    reads_embedding = True


@register("positional")
class Positional(_FixedLength):
    """softmax(R[t]), a learned matrix of positions: Tay et al. 2021, 3.2, random Synthesizer.

    Args:
        query_size: width of a query, whose content is not read.
        key_size: width of a source state.
        max_length: M; later source words are left out, later target positions share the last row.
    """

    positioned = True

    def __init__(self, query_size: int, key_size: int, max_length: NumPositions = 128) -> None:
        super().__init__(query_size, key_size, max_length)
        self.place_scores = nn.Parameter(torch.randn(self.max_length, self.max_length))

    def rows(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        return self.place_scores[
            self.query_positions(query.shape[1], memory, state).clamp_max(self.max_length - 1)
        ]


@register("factorized_positional")
class FactorizedPositional(_FixedLength):
    """softmax(R_1[t] R_2^T), positions in a low rank: Tay et al. 2021, 3.2, factorized random Synthesizer.

    Args:
        query_size: width of a query, whose content is not read.
        key_size: width of a source state.
        max_length: M; as :class:`Positional`.
        rank: width of R_1 and R_2, which have M rows.
    """

    positioned = True

    def __init__(
        self, query_size: int, key_size: int, max_length: NumPositions = 128, rank: Width = 8
    ) -> None:
        super().__init__(query_size, key_size, max_length)
        self.rank = check_size("rank", rank, rank)
        self.target_places = nn.Parameter(torch.randn(self.max_length, rank) * rank**-0.25)
        self.source_places = nn.Parameter(torch.randn(self.max_length, rank) * rank**-0.25)

    def rows(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        rows = self.query_positions(query.shape[1], memory, state).clamp_max(self.max_length - 1)
        return self.target_places[rows] @ self.source_places.t()
