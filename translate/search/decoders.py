"""The models of a search: the encoded sources and the decoders' states of the running batch.

Shapes: B sentences, W hypotheses of each, N = B W, H heads, S source pieces, V vocabulary.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from translate.attention.memory import each_tensor
from translate.models import Seq2Seq
from translate.models.states import Encoded, rows_of
from translate.search.sources import Reader


class Decoders:
    """One model, or an ensemble with the same target vocabulary, that reads the hypotheses.

    The hypotheses of a sentence share its encoded source. It begins with one hypothesis a sentence.

    Args:
        readers: one for each model.
        layer: of the first model, whose attention to the source is computed at each step.
    """

    def __init__(self, readers: Sequence[Reader], layer: int | None = None) -> None:
        self.layer = layer
        self.weights: Tensor | None = None  # (B, H, W, S) of the last step
        self.models = [reader.model for reader in readers]
        self.width = 1
        encoded = [_laid_out(reader.model, reader.encode()) for reader in readers]
        self.states = [
            model.start(source, in_place=True) for model, source in zip(self.models, encoded, strict=True)
        ]
        self.encoded = [replace(source, final=()) for source in encoded]

    def log_probabilities(self, ids: Tensor) -> Tensor:
        """Read the last tokens (N,): log-probabilities (N, V) of the next, in float32 at the least.

        Of several models it is the mean of the probabilities. The caller may change the tensor.
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

    def widen(self, width: int) -> None:
        """Make ``width`` hypotheses of the one that each sentence has."""
        self.states = [state.widen(width) for state in self.states]
        self.width = width

    def reorder(self, rows: Tensor) -> None:
        """Continue the hypotheses at ``rows`` (N,), each within its own sentence."""
        self.states = [state.reorder(rows) for state in self.states]

    def keep(self, sentences: Tensor) -> None:
        """Keep the sentences at these indexes."""
        rows = rows_of(sentences, self.width)
        self.encoded = [encoded.select(sentences) for encoded in self.encoded]
        self.states = [state.keep(sentences, rows) for state in self.states]

    def takes(self, other: "Decoders") -> bool:
        """Whether sentences of ``other`` can enter."""
        return all(own.takes(more) for own, more in zip(self.states, other.states, strict=True))

    def put(
        self, slots: Tensor, other: "Decoders", chosen: Tensor, count: int, lengths: Sequence[int]
    ) -> None:
        """Replace the sentences in ``slots`` by the ``chosen`` ones of ``other``.

        Args:
            slots: (K,) indexes, below ``count``.
            other: as wide; it has read no more tokens.
            chosen: (K,) indexes of its sentences.
            count: sentences afterwards.
            lengths: most source pieces of a live sentence, for each model.
        """
        for index, length in enumerate(lengths):
            state, encoded = self.states[index], self.encoded[index]
            encoded = encoded if _reads_source(state.attention) else encoded.narrow(length)
            new = other.encoded[index].select(chosen).narrow(length)
            self.encoded[index] = _laid_out(self.models[index], encoded.put(slots, new, count))
            self.states[index] = state.put(slots, other.states[index], chosen, count, self.width)


def _laid_out(model: Seq2Seq, encoded: Encoded) -> Encoded:
    """A source as its steps read it; nothing is copied that lies so."""
    memories = tuple(
        model.source_attention(layer).lay_out(memory) for layer, memory in enumerate(encoded.memories)
    )
    others = each_tensor(replace(encoded, memories=()), Tensor.contiguous)
    return replace(others, memories=memories)


def _reads_source(history: Any) -> bool:
    """Whether a mechanism's state may hold something for each source position."""
    found: list[Tensor] = []

    def note(tensor: Tensor) -> Tensor:
        found.append(tensor)
        return tensor

    each_tensor(history, note)
    return any(tensor.dim() > 1 for tensor in found)
