"""The models of a search: encoded sources, the decoders' states, and the attention of all hypotheses.

Shapes: R steps, B sentences, W hypotheses of each, N = B W, H heads, S source pieces, V vocabulary, T steps
so far.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from translate.attention.memory import each_tensor, tensors_of
from translate.models import Encoded
from translate.models.seq2seq import rows_of
from translate.search.sources import Reader

FIRST_STEPS = 32


class Record(NamedTuple):
    """The attention that a search records: a layer of the first model and some of its heads."""

    layer: int
    heads: Sequence[int]


class Decoders:
    """One model, or an ensemble with the same target vocabulary, that reads the hypotheses.

    The hypotheses of a sentence share its encoded source. It begins with one hypothesis a sentence.

    Args:
        readers: one for every model.
        record: the attention of the first model that is recorded at each step, if any.
    """

    def __init__(self, readers: Sequence[Reader], record: Record | None = None) -> None:
        self.models = [reader.model for reader in readers]
        self.recorder = None if record is None else Recorder(record, readers[0].source)
        self.width = 1
        encoded = [_laid_out(reader.model.encode(reader.source, reader.source_mask)) for reader in readers]
        self.states = [
            model.start(source, in_place=True) for model, source in zip(self.models, encoded, strict=True)
        ]
        self.encoded = [replace(source, final=()) for source in encoded]

    @property
    def num_recorded(self) -> int:
        """The number of heads that are recorded."""
        return 0 if self.recorder is None else len(self.recorder.heads)

    def log_probabilities(self, ids: Tensor, width: int, age: int) -> Tensor:
        """Read the last tokens (N,): log-probabilities (N, V) of the next, in float32 or float64.

        Several models give the mean of their probabilities. The caller may change the tensor.

        Args:
            ids: of the last tokens.
            width: W, to which the hypotheses are widened after the first step.
            age: tokens of the oldest sentence, with the begin of sentence.
        """
        found = []
        for index, (model, encoded) in enumerate(zip(self.models, self.encoded, strict=True)):
            state = self.states[index]
            if index == 0 and self.recorder is not None:
                hidden, state, weights = model.step_with_weights(ids, state, encoded, self.recorder.layer)
                self.recorder.record(weights, width, age - 1)
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

    def reorder(self, origins: Tensor) -> None:
        """Continue the hypotheses ``origins`` (B, W) of each sentence."""
        slots = torch.arange(len(origins), device=origins.device).unsqueeze(1)
        rows = (slots * self.width + origins).flatten()
        self.states = [state.reorder(rows) for state in self.states]

    def keep(self, sentences: Tensor) -> None:
        """Keep the sentences at these indexes."""
        rows = rows_of(sentences, self.width)
        self.encoded = [encoded.select(sentences) for encoded in self.encoded]
        self.states = [state.keep(sentences, rows) for state in self.states]
        if self.recorder is not None:
            self.recorder.keep(sentences)

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
            lengths: most source pieces of a live sentence, for every model.
        """
        for index, length in enumerate(lengths):
            state, encoded = self.states[index], self.encoded[index]
            new = other.encoded[index].select(chosen)
            if not _reads_source(state.attention):
                encoded, new = encoded.narrow(length), new.narrow(length)
            self.encoded[index] = _laid_out(encoded.put(slots, new, count))
            self.states[index] = state.put(slots, other.states[index], chosen, count, self.width)
        if self.recorder is not None and other.recorder is not None:
            self.recorder.put(slots, other.recorder, chosen, count)


def _laid_out(encoded: Encoded) -> Encoded:
    """A source without gaps in memory, which every step would copy otherwise."""
    return each_tensor(encoded, Tensor.contiguous)


def _reads_source(history: Any) -> bool:
    """Whether a mechanism's state may hold something for every source position."""
    return any(tensor.dim() > 1 for tensor in tensors_of(history))


class Recorder:
    """Weights of each step as the step computed them, and for every hypothesis its row at each step.

    Reordering hypotheses moves only these row numbers. Like the ids, they end with the last step for all
    sentences, so that a sentence that entered late has no meaning in the first columns.

    Args:
        shown: the layer and its heads.
        source: (B, S) of the sentences.
    """

    def __init__(self, shown: Record, source: Tensor) -> None:
        self.layer, self.heads = shown
        self.count = 0  # steps written
        self.steps: Tensor | None = None  # (R, B, W, H, S), the last `count` of which are written
        self.rows = source.new_zeros(len(source), 1, 0, dtype=torch.int64)  # (B, W, T)

    def record(self, weights: Tensor, width: int, keep: int) -> None:
        """Write the weights of one step.

        Args:
            weights: (B, H', W', S) of all heads; W' may be 1 at the first step.
            width: W.
            keep: earlier steps that a sentence may still need.
        """
        new = weights[:, list(self.heads)].permute(0, 2, 1, 3)  # (B, W', H, S)
        self.rows = self.rows[:, :, self.rows.shape[2] - min(keep, self.rows.shape[2]) :]
        steps = self._room(new, width, keep)
        steps[self.count, :, : new.shape[1], :, : new.shape[3]] = new
        self.count += 1
        own = torch.arange(new.shape[1], device=new.device).expand(len(self.rows), -1).unsqueeze(2)
        self.rows = torch.cat([self.rows, own], dim=2)

    def reorder(self, origins: Tensor) -> None:
        """Continue the hypotheses ``origins`` (B, W) of each sentence."""
        self.rows = self.rows.gather(1, origins.unsqueeze(2).expand(-1, -1, self.rows.shape[2]))

    def read(
        self, slots: Tensor, origins: Tensor, lengths: Sequence[int], sources: Sequence[int]
    ) -> list[Tensor]:
        """The weights of K hypotheses, (steps, H, source pieces) each.

        Args:
            slots: (K,) the sentence of each.
            origins: (K,) its number among the sentence's W.
            lengths: steps of each, the last one included.
            sources: source pieces of each.
        """
        assert self.steps is not None
        longest = max(lengths)
        rows = self.rows[slots, origins][:, self.rows.shape[2] - longest :]  # (K, T)
        steps = torch.arange(self.count - longest, self.count, device=rows.device)
        found = self.steps[steps, slots.unsqueeze(1), rows]  # (K, T, H, S)
        return [
            weights[longest - length :, :, :source]
            for weights, length, source in zip(found, lengths, sources, strict=True)
        ]

    def keep(self, sentences: Tensor) -> None:
        """Keep the sentences at these indexes."""
        self.rows = self.rows[sentences]
        if self.steps is not None:
            self.steps = self.steps[:, sentences]

    def put(self, slots: Tensor, other: "Recorder", chosen: Tensor, count: int) -> None:
        """Replace the sentences in ``slots`` by the ``chosen`` ones of ``other``, which is no further."""
        assert self.steps is not None
        assert other.steps is not None
        sizes = [
            len(self.steps),
            count,
            *map(max, zip(self.steps.shape[2:], other.steps.shape[2:], strict=True)),
        ]
        self.steps = _grown(self.steps, sizes)
        length = other.rows.shape[2]
        new = other.steps[other.count - length : other.count, chosen]
        self.steps[self.count - length : self.count, slots, :, :, : new.shape[-1]] = new
        missing = self.rows.shape[2] - length
        self.rows = _grown(self.rows, [count, *self.rows.shape[1:]])
        self.rows[slots] = torch.nn.functional.pad(other.rows[chosen], (missing, 0))

    def _room(self, new: Tensor, width: int, keep: int) -> Tensor:
        """The steps, with room for one more like ``new`` and without those that no sentence needs."""
        batch, _, heads, length = new.shape
        if self.steps is None:
            self.steps = new.new_empty(FIRST_STEPS, batch, width, heads, length)
        capacity, longest = len(self.steps), self.steps.shape[-1]
        if self.count == capacity:
            kept = min(keep, self.count)
            steps = self.steps.new_empty(max(capacity, 2 * kept), *self.steps.shape[1:])
            steps[:kept] = self.steps[self.count - kept :]
            self.steps, self.count = steps, kept
        if length > longest:
            self.steps = _grown(self.steps, [*self.steps.shape[:-1], length])
        return self.steps


def _grown(tensor: Tensor, sizes: Sequence[int]) -> Tensor:
    """The tensor, followed by anything where it is smaller than ``sizes``."""
    if list(tensor.shape) == list(sizes):
        return tensor
    grown = tensor.new_empty(sizes)
    grown[tuple(slice(size) for size in tensor.shape)] = tensor
    return grown
