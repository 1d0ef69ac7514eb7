"""What a decoder's self-attention read so far, written in place and shared by the hypotheses of a sentence.

Reordering hypotheses moves no keys and no values: what each hypothesis wrote stays where it is, and a mask
says which of it lies on the path of each hypothesis.

Shapes: A layers, B sentences, W hypotheses of each, N = B W, G key/value heads, C places that fit, T places
so far, E width of a head.
"""

import torch
from torch import Tensor

FIRST_PLACES = 16


class PathCache:
    """Keys and values of every layer, for hypotheses that part and are given up.

    It begins with one hypothesis a sentence; see :meth:`widen`.

    Args:
        num_layers: A.
        sentences: B.
        num_heads: G.
        head_size: E.
        like: has the dtype and the device.
    """

    def __init__(self, num_layers: int, sentences: int, num_heads: int, head_size: int, like: Tensor) -> None:
        self.length = 0
        self.width = 1
        self._states = like.new_empty(num_layers, 2, sentences, num_heads, FIRST_PLACES, 1, head_size)
        self._own = like.new_zeros(1, 1)  # 0 for a hypothesis itself, -inf for the others of the sentence
        self._paths = like.new_empty(sentences, 0)  # (N, T W): 0 on the path of a hypothesis, -inf beside it

    @property
    def num_sentences(self) -> int:
        return self._states.shape[2]

    def extend(self) -> None:
        """Make room for one more place, where each hypothesis writes for itself."""
        capacity = self._states.shape[4]
        if self.length == capacity:
            grown = self._states.new_empty(*self._states.shape[:4], 2 * capacity, *self._states.shape[5:])
            grown[:, :, :, :, :capacity] = self._states
            self._states = grown
        if self.width > 1:
            self._paths = torch.cat([self._paths, self._own.repeat(self.num_sentences, 1)], dim=1)
        self.length += 1

    def write(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Write a layer's last place, (N, G, 1, E) each; gives all its places: (B, G, T W, E) each."""
        for kind, new in enumerate((keys, values)):
            written = new.view(self.num_sentences, self.width, *new.shape[1::2]).transpose(1, 2)
            self._states[layer, kind, :, :, self.length - 1] = written  # (B, G, W, E)
        keys, values = self._states[layer, :, :, :, : self.length].flatten(3, 4).unbind(0)
        return keys, values

    def added(self, of_places: Tensor | None) -> Tensor | None:
        """What scores get: -inf beside a hypothesis' path, and ``of_places`` (1, 1 or H, 1, T).

        Returns (B or 1, 1 or H, W, T W), or ``None`` if nothing is added.
        """
        spread = None if of_places is None else of_places.repeat_interleave(self.width, -1)
        if self.width == 1:
            return spread
        paths = self._paths.view(-1, 1, self.width, self.length * self.width)
        return paths if spread is None else paths + spread

    def widen(self, width: int) -> None:
        """Make ``width`` equal hypotheses of the one that each sentence has."""
        assert self.width == 1
        wide = self._states.new_empty(*self._states.shape[:5], width, self._states.shape[6])
        # What is not written yet need not be copied.
        wide[:, :, :, :, : self.length] = self._states[:, :, :, :, : self.length]
        self._states = wide
        own = self._own.new_full((width, width), float("-inf"))
        self._own = own.fill_diagonal_(0.0)
        self._paths = self._own.repeat(self.num_sentences, self.length)
        self.width = width

    def reorder(self, rows: Tensor) -> None:
        """Continue the hypotheses at ``rows`` (N,), each within its own sentence."""
        self._paths = self._paths.index_select(0, rows)

    def keep(self, sentences: Tensor, rows: Tensor) -> None:
        """Keep the sentences at the given places, whose hypotheses are at ``rows``."""
        # One copy with the places that are not written yet is cheaper than two without.
        self._states = self._states.index_select(2, sentences)
        self._paths = self._paths.index_select(0, rows)

    def join(self, other: "PathCache") -> None:
        """Go on with the sentences of ``other`` behind one's own; both have read as many places, as wide."""
        own, more = self._states, other._states
        sizes, capacity = [own.shape[2], more.shape[2]], max(own.shape[4], more.shape[4])
        joined = own.new_empty(*own.shape[:2], sum(sizes), own.shape[3], capacity, *own.shape[5:])
        for part, each in zip(joined.split(sizes, dim=2), (own, more), strict=True):
            part[:, :, :, :, : self.length] = each[:, :, :, :, : self.length]
        self._states = joined
        self._paths = torch.cat([self._paths, other._paths])


class LayerCache:
    """One layer's part of a :class:`PathCache`."""

    def __init__(self, paths: PathCache, layer: int) -> None:
        self.paths = paths
        self.layer = layer

    def write(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """See :meth:`PathCache.write`."""
        return self.paths.write(self.layer, keys, values)
