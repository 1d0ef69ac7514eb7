"""Attention to the words of a sentence, then to the sentences of a document.

Shapes: B batch, S source, T target, P previous sentences, L their words, C key_size, A attention_size.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from translate.attention.functional import additive_scores, masked_softmax
from translate.attention.masks import check_mask
from translate.attention.mechanisms import Additive
from translate.attention.memory import Memory


@dataclass(frozen=True)
class DocumentMemory(Memory):
    """Memory of a sentence, and of those before it in the document."""

    previous: Memory | None = None  # keys (B, P, L, A), values (B, P, L, C), mask (B, P L)


class Hierarchical(Additive):
    """Words, then sentences: Yang et al. 2016, 2.2, with a decoder's query as Miculicich et al. 2018, 2.2.

    Words: c_j = sum_s softmax_s(v^T tanh(W q + U h_js)) h_js, for the sentence (j = 0) and each before it.
    Sentences: c = sum_j softmax_j(v'^T tanh(W' q + U' c_j)) c_j.
    Deviations: Yang et al. have no query but a learned vector; Miculicich et al. mix the sentence with the
    others by a gate, here it is one of the softmax. Without previous sentences it has a share of 1.
    The weights are those of the sentence's own words, so a row sums to its share of the document.

    Args:
        query_size: width of a query.
        key_size: width of a source state, C.
        attention_size: A; ``query_size`` by default.
        kernel: as :class:`Additive`.
    """

    def __init__(
        self, query_size: int, key_size: int, attention_size: int | None = None, kernel: str = "auto"
    ) -> None:
        super().__init__(query_size, key_size, attention_size, kernel)
        size = self.direction.shape[0]
        self.sentence_query_projection = nn.Linear(query_size, size)
        self.sentence_projection = nn.Linear(key_size, size, bias=False)
        self.sentence_direction = nn.Parameter(torch.empty(size).uniform_(-(size**-0.5), size**-0.5))

    def prepare(
        self,
        states: Tensor,
        mask: Tensor | None = None,
        previous: Tensor | None = None,
        previous_mask: Tensor | None = None,
    ) -> DocumentMemory:
        """Project the states of a sentence, and of those before it.

        Args:
            states: (B, S, key_size).
            mask: (B, S) bool, True = visible.
            previous: (B, P, L, key_size), or ``None``.
            previous_mask: (B, P, L) bool, True = visible; a sentence without a visible word is not there.
        """
        memory = super().prepare(states, mask)
        if previous is None:
            return DocumentMemory(memory.keys, memory.values, mask)
        if previous.dim() != 4 or previous.shape[0] != states.shape[0] or previous.shape[-1] != self.key_size:
            expected = f"({states.shape[0]}, P, L, {self.key_size})"
            raise ValueError(f"previous: expected {expected}, got {tuple(previous.shape)}")
        if previous_mask is not None and previous_mask.shape != previous.shape[:3]:
            raise ValueError(
                f"previous_mask: expected shape {tuple(previous.shape[:3])}, got {tuple(previous_mask.shape)}"
            )
        flat_mask = None if previous_mask is None else previous_mask.flatten(1)
        check_mask(flat_mask, previous.flatten(1, 2))
        earlier = Memory(self.key_projection(previous), previous, flat_mask)
        return DocumentMemory(memory.keys, memory.values, mask, earlier)

    def attend(
        self, query: Tensor, memory: Memory, state: Any = None, *, exact: bool = False
    ) -> tuple[Tensor, Tensor]:
        context, weights = super().attend(query, memory, state, exact=exact)
        assert isinstance(memory, DocumentMemory)
        contexts, present = self._sentences(
            query, context, memory, memory.previous
        )  # (B, T, 1 + P, C), (B, 1 + P)
        projected = self.sentence_query_projection(query)
        keys = self.sentence_projection(contexts)
        scores = additive_scores(projected, keys, self.sentence_direction)  # (B, T, 1 + P)
        shares = masked_softmax(scores, present.unsqueeze(1)).to(contexts.dtype)
        document = (shares.unsqueeze(2) @ contexts).squeeze(2)
        return document, weights * shares[..., 0].unsqueeze(1).unsqueeze(-1).to(weights.dtype)

    def _sentences(
        self, query: Tensor, context: Tensor, memory: Memory, previous: Memory | None
    ) -> tuple[Tensor, Tensor]:
        """The context of each sentence, this one first, and whether the sentence has a visible word."""
        contexts, present = [context], [_any(memory.mask, memory.keys)]
        if previous is None:
            return torch.stack(contexts, 2), torch.stack(present, 1)
        count = previous.keys.shape[1]
        masks = [None] * count if previous.mask is None else previous.mask.unflatten(1, (count, -1)).unbind(1)
        for index, mask in enumerate(masks):
            keys, values = previous.keys[:, index : index + 1], previous.values[:, index : index + 1]
            sentence = Memory(keys, values, mask)
            contexts.append(super().attend(query, sentence)[0])
            present.append(_any(mask, keys))
        return torch.stack(contexts, 2), torch.stack(present, 1)


def _any(mask: Tensor | None, keys: Tensor) -> Tensor:
    return keys.new_ones(len(keys), dtype=torch.bool) if mask is None else mask.any(1)
