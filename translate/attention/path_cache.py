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

import torch
from torch import Tensor

from translate.attention.kernels import onednn_multiplies

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
        # One (2, B, G, R, E) for each layer, so that only one is held twice while it is copied.
        shape = 2, sentences, num_heads, FIRST_ROWS, head_size
        self._states = [like.new_zeros(shape) for _ in range(num_layers)]
        self._own = like.new_zeros(1, 1)  # 0 for a hypothesis itself, -inf for the others of its sentence
        self._paths = like.new_empty(sentences, 0)  # (N, C): 0 on the path of a hypothesis, else -inf
        # The position of each row, (B, C)
        self._positions = torch.empty(sentences, 0, dtype=torch.int64, device=like.device)
        self._crowded = 0  # number of rows at which to look for rows on no path
        self._masked = False  # whether a column lies on no path of some sentence, whatever the width
        # oneDNN multiplies whole tensors alone, and would copy the rows so far at every step. So queries see
        # the rows that are not written yet, too, which hold zeros or what has been moved, and lie on no path.
        self._whole = like.device.type == "cpu" and onednn_multiplies()

    @property
    def num_sentences(self) -> int:
        return self._states[0].shape[1]

    @property
    def num_rows(self) -> int:
        """C."""
        return self._paths.shape[1]

    @property
    def num_seen(self) -> int:
        """The rows that :meth:`write` returns: C, or all that fit."""
        return self._states[0].shape[3] if self._whole else self.num_rows

    @property
    def parted(self) -> bool:
        """Whether a hypothesis must not see all rows of its sentence."""
        return self._masked or self.width > 1

    def extend(self) -> None:
        """Make room for one more position, where each hypothesis writes a row."""
        if self.parted and self.num_rows >= self._crowded:
            self._compact()
        rows, capacity = self.num_rows + self.width, self._states[0].shape[3]
        if rows > capacity:
            for layer, states in enumerate(self._states):
                grown = states.new_empty(
                    *states.shape[:3], rows + rows // GROWTH + FIRST_ROWS, states.shape[4]
                )
                grown[:, :, :, : self.num_rows] = states[:, :, :, : self.num_rows]
                grown[:, :, :, self.num_rows :] = 0.0
                self._states[layer] = grown
        own = self._own.repeat(self.num_sentences, 1)
        self._paths = torch.cat([self._paths, own], dim=1)
        position = self._positions.new_full((self.num_sentences, self.width), self.length)
        self._positions = torch.cat([self._positions, position], dim=1)
        self.length += 1

    def write(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Write a layer's last position, (N, G, 1, E) each; returns rows (B, G, ``num_seen``, E) each."""
        rows = self.num_rows
        for kind, new in enumerate((keys, values)):
            written = new.view(self.num_sentences, self.width, *new.shape[1::2]).transpose(1, 2)
            self._states[layer][kind, :, :, rows - self.width : rows] = written  # (B, G, W, E)
        keys, values = self._states[layer][:, :, :, : self.num_seen].unbind(0)
        return keys, values

    def added(self, by_position: Tensor | None) -> Tensor | None:
        """The bias of the scores: -inf off a hypothesis' path, plus ``by_position`` (1, 1 or H, 1, T).

        Returns (B or 1, 1 or H, W, ``num_seen``), or ``None`` if nothing is added.
        """
        unwritten = self.num_seen - self.num_rows
        if not self.parted:  # every row is a position
            if by_position is None and unwritten:
                by_position = self._own.new_zeros(1, 1, 1, self.num_rows)
            return by_position if by_position is None else _followed(by_position, unwritten, -math.inf)
        paths = _followed(self._paths, unwritten, -math.inf).view(-1, 1, self.width, self.num_seen)
        if by_position is None:
            return paths
        positions = _followed(self._positions, unwritten, 0)
        return paths + by_position[0, :, 0, positions].transpose(0, 1).unsqueeze(2)  # (B, H, 1, num_seen)

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
            self._states[layer] = states.index_select(1, sentences)
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
        old, num_heads, capacity, size = self._states[0].shape[1:]
        if count > old or rows > self.num_rows:
            for layer, states in enumerate(self._states):
                if count > old or rows > capacity:
                    grown = states.new_zeros(2, count, num_heads, max(capacity, rows), size)
                    grown[:, :old, :, : self.num_rows] = states[:, :, :, : self.num_rows]
                    self._states[layer] = states = grown
                states[:, :, :, self.num_rows : rows] = 0.0  # on no path, but no NaN either
                states[:, old:, :, :rows] = 0.0
            more, wider = count - old, rows - self.num_rows
            self._paths = torch.nn.functional.pad(
                self._paths, (0, wider, 0, more * self.width), value=-math.inf
            )
            self._positions = torch.nn.functional.pad(self._positions, (0, wider, 0, more))
        paths = self._paths.view(count, self.width, -1)
        paths[sentences, :, other.num_rows :] = -math.inf
        paths[sentences, :, : other.num_rows] = other._paths.view(-1, self.width, other.num_rows)[chosen]
        self._positions[sentences, : other.num_rows] = other._positions[chosen] + (self.length - other.length)
        for own, more_states in zip(self._states, other._states, strict=True):
            own[:, sentences, :, : other.num_rows] = more_states[:, chosen, :, : other.num_rows]

    def _compact(self) -> None:
        """Drop rows on no path, if they are many; the sentence with most other rows decides how many stay."""
        used = (self._paths == 0.0).view(self.num_sentences, self.width, -1).any(1)  # (B, C)
        count = int(used.sum(1).max())
        if WORTH * count <= self.num_rows:
            # Used rows first, in their order; unused rows among the first stay on no path.
            kept = used.byte().sort(dim=1, descending=True, stable=True).indices[:, :count]  # (B, R)
            self._paths = self._paths.gather(1, kept.repeat_interleave(self.width, 0))
            self._positions = self._positions.gather(1, kept)
            *blocks, capacity, size = self._states[0].shape
            starts = torch.arange(math.prod(blocks), device=kept.device).view(*blocks, 1) * capacity
            rows = (starts + kept.unsqueeze(1)).flatten()  # (2, B, G, R), among all rows
            for states in self._states:
                moved = states.view(-1, size).index_select(0, rows)
                states[:, :, :, :count] = moved.view(*blocks, count, size)
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


def _followed(tensor: Tensor, count: int, value: float) -> Tensor:
    """The tensor with ``count`` more numbers in its last dimension."""
    return torch.nn.functional.pad(tensor, (0, count), value=value) if count else tensor


class LayerCache:
    """One layer's part of a :class:`PathCache`."""

    def __init__(self, paths: PathCache, layer: int) -> None:
        self.paths = paths
        self.layer = layer

    def write(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """See :meth:`PathCache.write`."""
        return self.paths.write(self.layer, keys, values)
