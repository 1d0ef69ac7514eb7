"""The cache of a decoder's self-attention, written in place and shared by the hypotheses of a sentence.

Reordering hypotheses moves no keys and no values. Each row stays where a hypothesis wrote it, and a mask says
which rows lie on the path of each hypothesis. Rows on no path are dropped now and then: the hypotheses of a
sentence soon share their beginning, which is then held once. All sentences have their rows in the same
columns; a sentence that begins later than others has nothing on a path in the earlier columns.

Shapes: A layers, B sentences, W hypotheses of a sentence, N = B W, G key/value heads, R rows that fit, C rows
so far, T positions so far, E width of a head. A row holds what one hypothesis wrote at one position, numbered
from the oldest sentence's first: only distances between positions of one sentence have a meaning.
"""

import math
from itertools import chain
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from translate.attention.memory import select_rows

FIRST_ROWS = 16
WORTH = 1.5  # rows over rows on a path, from which on dropping the others pays
# A cache that is full grows by one row in this many; each step reads them all, so copies are cheap.
GROWTH = 4


class PathCache:
    """Keys and values of every layer, for hypotheses that branch and end.

    It begins with one hypothesis of each sentence; see :meth:`widen`.

    Args:
        num_layers: A.
        sentences: B.
        num_heads: G.
        head_size: E.
        like: a tensor with the dtype and the device of the cache.
    """

    def __init__(self, num_layers: int, sentences: int, num_heads: int, head_size: int, like: Tensor) -> None:
        self.length = 0
        self.width = 1
        room = like.new_zeros(sentences, num_heads, FIRST_ROWS, head_size)
        # Keys and values (B, G, R, E) of each layer.
        self._states = [(room.clone(), room.clone()) for _ in range(num_layers)]
        self._own = like.new_zeros(1, 1)  # 0 for a hypothesis itself, -inf for the others of its sentence
        self._paths = like.new_empty(sentences, 0)  # (N, C): 0 on the path of a hypothesis, else -inf
        # The position of each row, (B, C)
        self._positions = torch.empty(sentences, 0, dtype=torch.int64, device=like.device)
        self._crowded = 0  # number of rows at which to look for rows on no path
        self._masked = False  # whether a column lies on no path of some sentence, whatever the width

    @property
    def num_sentences(self) -> int:
        return self._states[0][0].shape[0]

    @property
    def num_rows(self) -> int:
        """The number of rows that are written, C."""
        return self._paths.shape[1]

    @property
    def _capacity(self) -> int:
        return self._states[0][0].shape[2]

    @property
    def parted(self) -> bool:
        """Whether some rows of a sentence lie on no path of one of its hypotheses."""
        return self._masked or self.width > 1

    def extend(self) -> None:
        """Make room for one more position, where each hypothesis writes a row."""
        if self.parted and self.num_rows >= self._crowded:
            self._compact()
        rows = self.num_rows + self.width
        if rows > self._capacity:
            self._grow(self.num_sentences, rows + rows // GROWTH + FIRST_ROWS)
        own = self._own.repeat(self.num_sentences, 1)
        self._paths = torch.cat([self._paths, own], dim=1)
        position = self._positions.new_full((self.num_sentences, self.width), self.length)
        self._positions = torch.cat([self._positions, position], dim=1)
        self.length += 1

    def write(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Write a layer's last position, (N, G, 1, E) each; returns all rows (B, G, C, E) each."""
        rows, held = self.num_rows, self._states[layer]
        for own, new in zip(held, (keys, values), strict=True):
            written = new.view(self.num_sentences, self.width, *new.shape[1::2]).transpose(1, 2)
            own[:, :, rows - self.width : rows] = written  # (B, G, W, E)
        keys, values = (own[:, :, :rows] for own in held)
        return keys, values

    def added(self, by_position: Tensor | None) -> Tensor:
        """The bias of the scores (B, 1 or H, W, C): -inf off a hypothesis' path, plus ``by_position``.

        Args:
            by_position: (1, 1 or H, 1, T).
        """
        off_path = self._paths.view(-1, 1, self.width, self.num_rows)
        if by_position is None:
            return off_path
        return off_path + by_position[0, :, 0, self._positions].transpose(0, 1).unsqueeze(2)

    def widen(self, width: int) -> None:
        """Copy the one hypothesis of each sentence to ``width``; its rows are on all paths."""
        assert self.width == 1
        own = self._own.new_full((width, width), float("-inf"))
        self._own = own.fill_diagonal_(0.0)
        self._paths = self._paths.repeat_interleave(width, 0)
        self.width = width
        self._crowded = self._next_look()

    def reorder(self, rows: Tensor) -> None:
        """Continue the hypotheses at ``rows`` (N,), which stay within their sentences."""
        self._paths = self._paths.index_select(0, rows)

    def keep(self, sentences: Tensor, rows: Tensor) -> None:
        """Keep the sentences at the given rows of the batch, whose hypotheses are at ``rows``."""
        # One copy with the rows that are not written yet is cheaper than two without.
        for layer, states in enumerate(self._states):
            self._states[layer] = select_rows(states, sentences)
        self._paths = self._paths.index_select(0, rows)
        self._positions = self._positions.index_select(0, sentences)

    def put(self, sentences: Tensor, other: "PathCache", chosen: Tensor, count: int) -> None:
        """Replace the given sentences by the ``chosen`` ones of ``other``.

        Args:
            sentences: (K,) indexes, below ``count``.
            other: as wide.
            chosen: (K,) sentences of ``other``.
            count: sentences afterwards.
        """
        assert other.width == self.width
        self._masked |= other._masked or self.num_rows != other.num_rows
        rows = max(self.num_rows, other.num_rows)
        old = self.num_sentences
        if count > old or rows > self.num_rows:
            if count > old or rows > self._capacity:
                self._grow(count, max(self._capacity, rows))
            for own in chain(*self._states):
                own[:, :, self.num_rows : rows] = 0.0  # on no path, but no NaN either
            more, wider = count - old, rows - self.num_rows
            self._paths = F.pad(self._paths, (0, wider, 0, more * self.width), value=-math.inf)
            self._positions = F.pad(self._positions, (0, wider, 0, more))
        paths = self._paths.view(count, self.width, -1)
        paths[sentences, :, other.num_rows :] = -math.inf
        paths[sentences, :, : other.num_rows] = other._paths.view(-1, self.width, other.num_rows)[chosen]
        self._positions[sentences, : other.num_rows] = other._positions[chosen] + (self.length - other.length)
        for own, new in zip(chain(*self._states), chain(*other._states), strict=True):
            own[sentences, :, : other.num_rows] = new[chosen, :, : other.num_rows]

    def _grow(self, count: int, capacity: int) -> None:
        """Make room for ``count`` sentences and ``capacity`` rows, one layer after the other."""
        old, num_heads, _, size = self._states[0][0].shape
        for layer, states in enumerate(self._states):
            grown = [own.new_zeros(count, num_heads, capacity, size) for own in states]
            for own, new in zip(states, grown, strict=True):
                new[:old, :, : self.num_rows] = own[:, :, : self.num_rows]
            self._states[layer] = grown[0], grown[1]

    def _compact(self) -> None:
        """Drop rows on no path, if they are many; the sentence with most other rows decides how many stay."""
        used = (self._paths == 0.0).view(self.num_sentences, self.width, -1).any(1)  # (B, C)
        count = int(used.sum(1).max())
        if WORTH * count <= self.num_rows:
            # Used rows first, in their order; unused rows among the first stay on no path.
            kept = used.byte().sort(dim=1, descending=True, stable=True).indices[:, :count]  # (B, R)
            self._paths = self._paths.gather(1, kept.repeat_interleave(self.width, 0))
            self._positions = self._positions.gather(1, kept)
            batch, num_heads, capacity, size = self._states[0][0].shape
            starts = torch.arange(batch * num_heads, device=kept.device).view(batch, num_heads, 1) * capacity
            rows = (starts + kept.unsqueeze(1)).flatten()  # (B, G, R), among all rows
            for own in chain(*self._states):
                moved = own.contiguous().view(-1, size).index_select(0, rows)
                own[:, :, :count] = moved.view(batch, num_heads, count, size)
            self._count_from_the_oldest()
        self._crowded = self._next_look()

    def _count_from_the_oldest(self) -> None:
        """Move the positions, which would grow for ever where sentences enter and leave."""
        seen = (self._paths == 0.0).view(self.num_sentences, self.width, -1).any(1)
        oldest = int(self._positions.masked_fill(~seen, self.length).min())
        self._positions = (self._positions - oldest).clamp_min(0)
        self.length -= oldest

    def _next_look(self) -> int:
        return max(int(WORTH * self.num_rows), FIRST_ROWS)


class LayerCache(NamedTuple):
    """One layer's part of a :class:`PathCache`."""

    paths: PathCache
    layer: int
