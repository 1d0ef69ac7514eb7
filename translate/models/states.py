"""What a decoder reads and carries from step to step: encoded sources and decoder states.

Shapes: B sentences, S source pieces, W hypotheses of a sentence, N = B W, H heads, E width of a head.
"""

from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import Tensor

from translate.attention import Memory, PathCache, select_rows
from translate.attention.memory import each_tensor, put_rows


@dataclass(frozen=True)
class Encoded:
    """The source, encoded once and shared by all hypotheses of a sentence."""

    memories: tuple[Memory, ...]  # one of every cross-attention layer
    mask: Tensor | None  # (B, S) bool, True = visible
    final: tuple[Tensor, ...] = ()  # summaries that start the decoder, (B, ...)

    @property
    def batch_size(self) -> int:
        return self.memories[0].keys.shape[0]

    def select(self, sentences: Tensor) -> "Encoded":
        """The sentences at the given rows of the batch."""
        return Encoded(
            tuple(memory.select(sentences) for memory in self.memories),
            None if self.mask is None else self.mask.index_select(0, sentences),
            tuple(tensor.index_select(0, sentences) for tensor in self.final),
        )

    def narrow(self, length: int) -> "Encoded":
        """The same without padding after the first ``length`` source positions, where that is possible."""
        plain = all(type(memory) is Memory for memory in self.memories)
        if not plain or self.memories[0].keys.shape[2] <= length:
            return self
        memories = tuple(
            Memory(
                memory.keys[:, :, :length].contiguous(),
                memory.values[:, :, :length].contiguous(),
                None if memory.mask is None else memory.mask[:, :length].contiguous(),
            )
            for memory in self.memories
        )
        mask = None if self.mask is None else self.mask[:, :length].contiguous()
        return replace(self, memories=memories, mask=mask)

    def put(self, sentences: Tensor, other: "Encoded", count: int) -> "Encoded":
        """Replace the given sentences by those of ``other``; writes in place where it can.

        Args:
            sentences: (K,) rows, below ``count``.
            other: K sentences.
            count: sentences of the result.
        """
        lengths = {encoded.memories[0].keys.shape[2] for encoded in (self, other)}
        if len(lengths) == 1 and self.mask is other.mask is None and count == self.batch_size:
            return cast(Encoded, put_rows(self, sentences, other, count))
        return cast(Encoded, put_rows(self._masked(), sentences, other._masked(), count))

    def _masked(self) -> "Encoded":
        """The same with a mask, even if it hides nothing."""
        if self.mask is not None:
            return self
        keys = self.memories[0].keys
        mask = torch.ones(len(keys), keys.shape[2], dtype=torch.bool, device=keys.device)
        memories = tuple(replace(memory, mask=mask) for memory in self.memories)
        return replace(self, memories=memories, mask=mask)


@dataclass(frozen=True)
class DecodeState:
    """What a decoder carries from step to step for N hypotheses.

    Steps write into a :class:`PathCache` that it holds, so that only the newest state is valid.
    """

    position: int | Tensor  # target tokens read so far: by all hypotheses, or by each (N,)
    tensors: tuple[Any, ...]  # tensors (N, ...), or a PathCache
    attention: Any = None  # states of mechanisms with a history: tensors (N, ...) in tuples or dataclasses

    def select(self, hypotheses: Tensor) -> "DecodeState":
        """The state of the hypotheses at the given rows, in that order, if all of it is tensors."""
        position, tensors, attention = select_rows((self.position, self.tensors, self.attention), hypotheses)
        return DecodeState(position, tensors, attention)

    def reorder(self, hypotheses: Tensor) -> "DecodeState":
        """As :meth:`select`, for N hypotheses that stay within their sentences."""
        for cache in self._caches():
            cache.reorder(hypotheses)
        return self.select(hypotheses)

    def keep(self, sentences: Tensor, hypotheses: Tensor) -> "DecodeState":
        """The state of the sentences at the given rows, whose hypotheses are at ``hypotheses``."""
        for cache in self._caches():
            cache.keep(sentences, hypotheses)
        return self.select(hypotheses)

    def takes(self, other: "DecodeState") -> bool:
        """Whether :meth:`put` is possible: of tensors that grow with the target only paths can be put."""
        return all(
            isinstance(own, PathCache) or own.shape[1:] == more.shape[1:]
            for own, more in zip(self.tensors, other.tensors, strict=True)
        )

    def put(
        self, sentences: Tensor, other: "DecodeState", chosen: Tensor, count: int, width: int
    ) -> "DecodeState":
        """Replace the given sentences by the ``chosen`` ones of ``other``, which have read fewer tokens.

        Args:
            sentences: (K,) rows, below ``count``.
            other: of sentences with as many hypotheses.
            chosen: (K,) sentences of ``other``.
            count: sentences of the result.
            width: W.
        """
        rows, chosen_rows = (rows_of(each, width) for each in (sentences, chosen))
        tensors = []
        for own, more in zip(self.tensors, other.tensors, strict=True):
            if isinstance(own, PathCache):
                own.put(sentences, more, chosen, count)
                tensors.append(own)
            else:
                tensors.append(put_rows(own, rows, more.index_select(0, chosen_rows), count * width))
        attention = put_rows(self.attention, rows, select_rows(other.attention, chosen_rows), count * width)
        if isinstance(self.position, int) and self.position == other.position:
            return DecodeState(self.position, tuple(tensors), attention)
        device = sentences.device
        position = self._positions(self._num_rows(width), device)
        more = other._positions(other._num_rows(width), device)[chosen_rows]
        position = put_rows(position, rows, more, count * width)
        return DecodeState(position, tuple(tensors), attention)

    def _num_rows(self, width: int) -> int:
        first = self.tensors[0]
        return first.num_sentences * width if isinstance(first, PathCache) else len(first)

    def _positions(self, rows: int, device: torch.device) -> Tensor:
        if isinstance(self.position, Tensor):
            return self.position
        return torch.full((rows,), self.position, device=device)

    def widen(self, num_hypotheses: int) -> "DecodeState":
        """Copy the one hypothesis of each sentence to ``num_hypotheses``."""
        for cache in self._caches():
            cache.widen(num_hypotheses)
        position, tensors, attention = each_tensor(
            (self.position, self.tensors, self.attention),
            lambda tensor: tensor.repeat_interleave(num_hypotheses, 0),
        )
        return DecodeState(position, tensors, attention)

    def _caches(self) -> list[PathCache]:
        return [each for each in self.tensors if isinstance(each, PathCache)]


def rows_of(sentences: Tensor, width: int) -> Tensor:
    """The rows of the hypotheses of the given sentences: (K,) -> (K W,)."""
    return (sentences.unsqueeze(1) * width + torch.arange(width, device=sentences.device)).flatten()
