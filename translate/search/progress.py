"""How far one model, or several together, have read the hypotheses.

Shapes: B sentences, W hypotheses of each, N = B W, S source pieces, V vocabulary.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from translate.attention.memory import each_tensor
from translate.models import Encoded, Seq2Seq


class Reader(NamedTuple):
    """A model with the sentences as its own vocabulary writes them."""

    model: Seq2Seq  # in evaluation mode, on the device of ``source``
    source: Tensor  # (B, S) ids, ending in end of sentence
    source_mask: Tensor | None  # (B, S) bool, True = visible
    encoded: Encoded | None = None  # of both, where it is at hand

    @property
    def lengths(self) -> list[int]:
        """Source pieces of each sentence, end of sentence counted."""
        if self.source_mask is None:
            return [self.source.shape[1]] * len(self.source)
        return [int(length) for length in self.source_mask.sum(1).tolist()]

    def select(self, sentences: Tensor) -> "Reader":
        """The sentences at the given places of the batch."""
        return Reader(
            self.model,
            self.source[sentences],
            None if self.source_mask is None else self.source_mask[sentences],
            None if self.encoded is None else self.encoded.select(sentences),
        )


class Progress:
    """The encoded sources, which all hypotheses of a sentence share, and the decoders' states.

    It begins with one hypothesis a sentence.

    Args:
        readers: one, or an ensemble with the same target vocabulary.
        layer: of the first model, whose attention to the source is noted at each step.
    """

    def __init__(self, readers: Sequence[Reader], layer: int | None = None) -> None:
        self.layer = layer
        self.weights: Tensor | None = None  # (B, H, W, S) of the last step
        self.models = [reader.model for reader in readers]
        # Heads are strided views of projections; each step would copy them anew for its products.
        self.encoded = [
            each_tensor(each.encoded or each.model.encode(each.source, each.source_mask), Tensor.contiguous)
            for each in readers
        ]
        self.states = [
            model.start(encoded, in_place=True)
            for model, encoded in zip(self.models, self.encoded, strict=True)
        ]

    def log_probabilities(self, ids: Tensor) -> Tensor:
        """Read the last tokens (N,): log-probabilities (N, V) of the next, in float32 at the least.

        Of several models it is the mean of the probabilities. The tensor is the caller's to change.
        """
        found = []
        for index, (model, encoded) in enumerate(zip(self.models, self.encoded, strict=True)):
            state = self.states[index]
            if index == 0 and self.layer is not None:
                hidden, state, self.weights = model.step_with_weights(ids, state, encoded, self.layer)
            else:
                hidden, state = model.step(ids, state, encoded)
            self.states[index] = state
            logits = model.logits(hidden)
            logits = logits if logits.dtype == torch.float64 else logits.float()
            found.append(torch.log_softmax(logits, dim=-1, out=logits))
        if len(found) == 1:
            return found[0]
        return torch.stack(found).logsumexp(0) - math.log(len(found))

    @property
    def num_source_places(self) -> int:
        """S of the first model."""
        return self.encoded[0].memories[0].keys.shape[2]

    @property
    def joinable(self) -> bool:
        """Whether :meth:`join` is possible."""
        return all(encoded.joinable for encoded in self.encoded)

    def join(self, other: "Progress") -> None:
        """Go on with the sentences of ``other`` behind one's own; both have read as many tokens, as wide."""
        self.encoded = [own.join(more) for own, more in zip(self.encoded, other.encoded, strict=True)]
        self.states = [own.join(more) for own, more in zip(self.states, other.states, strict=True)]

    def widen(self, width: int) -> None:
        """Make ``width`` hypotheses of the one that each sentence has."""
        self.states = [state.widen(width) for state in self.states]

    def reorder(self, rows: Tensor) -> None:
        """Continue the hypotheses at ``rows`` (N,), each within its own sentence."""
        self.states = [state.reorder(rows) for state in self.states]

    def keep(self, sentences: Tensor, rows: Tensor) -> None:
        """Keep the sentences at the given places, whose hypotheses are at ``rows``."""
        self.encoded = [encoded.select(sentences) for encoded in self.encoded]
        self.states = [state.keep(sentences, rows) for state in self.states]


def rows_of(sentences: Tensor, width: int) -> Tensor:
    """The places of the hypotheses of the sentences at the given places: (B,) -> (B W,)."""
    return (sentences.unsqueeze(1) * width + torch.arange(width, device=sentences.device)).flatten()
