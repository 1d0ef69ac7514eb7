"""The attention of all hypotheses, recorded while the search runs.

Shapes: R steps, B sentences, W hypotheses of each, H recorded heads, S source pieces, T steps so far.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

FIRST_STEPS = 32


class Record(NamedTuple):
    """The attention that a search records: a layer of the first model and some of its heads, or all."""

    layer: int
    heads: Sequence[int] | None = None


class Recorder:
    """Weights of each step as the step computed them, and for each hypothesis its row at each step.

    Reordering hypotheses moves only these row numbers. Like the ids, they end with the last step for all
    sentences, so that a sentence that entered late has no meaning in the first columns.

    Args:
        heads: of the layer's weights, or ``None`` for all.
        sentences: B.
        device: of the weights.
    """

    def __init__(self, heads: Sequence[int] | None, sentences: int, device: torch.device) -> None:
        self.heads = heads
        self.count = 0  # steps written
        self.steps: Tensor | None = None  # (R, B, W, H, S), the last `count` of which are written
        self.rows = torch.zeros(sentences, 1, 0, dtype=torch.int64, device=device)  # (B, W, T)

    def record(self, weights: Tensor, width: int, keep: int) -> None:
        """Write one step.

        Args:
            weights: (B, H', W', S) of all heads; W' may be 1 at the first step.
            width: W.
            keep: earlier steps that a sentence may still need.
        """
        new = weights if self.heads is None else weights[:, list(self.heads)]
        new = new.permute(0, 2, 1, 3)  # (B, W', H, S)
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
