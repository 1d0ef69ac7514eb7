"""Batches of about equally long pairs under a budget of target tokens."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from translate.text.tokenizer import BOS, EOS, PAD


class Ragged(NamedTuple):
    """Sequences of different lengths in one array: row i is ``values[offsets[i]:offsets[i + 1]]``."""

    values: np.ndarray  # int32, all sequences one after the other
    offsets: np.ndarray  # int64, (number of sequences + 1,)

    @classmethod
    def of(cls, sequences: Sequence[Sequence[int]]) -> "Ragged":
        lengths = np.fromiter((len(sequence) for sequence in sequences), np.int64, len(sequences))
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        values = np.fromiter((i for sequence in sequences for i in sequence), np.int32, int(offsets[-1]))
        return cls(values, offsets)

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets)

    def row(self, index: int) -> np.ndarray:
        return self.values[self.offsets[index] : self.offsets[index + 1]]


@dataclass(frozen=True)
class EncodedCorpus:
    """A split as piece ids, without begin and end of sentence."""

    source: Ragged
    target: Ragged

    def __len__(self) -> int:
        return len(self.source.offsets) - 1


@dataclass(frozen=True)
class Batch:
    """Padded pairs; a mask is ``None`` where nothing is padded (True = visible)."""

    source: Tensor  # (B, S) ids y, ending in </s>
    source_mask: Tensor | None  # (B, S) bool
    target_in: Tensor  # (B, T) <s> y1 ... yn
    target_out: Tensor  # (B, T) y1 ... yn </s>
    target_mask: Tensor | None  # (B, T) bool
    indices: list[int]  # places of the pairs in the corpus
    num_tokens: int  # target tokens, padding not counted
    num_source_tokens: int

    def to(self, device: torch.device) -> "Batch":
        def move(tensor: Tensor | None) -> Tensor | None:
            if tensor is None or device.type == "cpu":
                return tensor
            return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)

        source, target_in, target_out = (move(t) for t in (self.source, self.target_in, self.target_out))
        assert source is not None
        assert target_in is not None
        assert target_out is not None
        return Batch(
            source,
            move(self.source_mask),
            target_in,
            target_out,
            move(self.target_mask),
            self.indices,
            self.num_tokens,
            self.num_source_tokens,
        )


def pad(sequences: Sequence[Sequence[int] | np.ndarray], *, pad_id: int = PAD) -> tuple[Tensor, Tensor | None]:
    """Stack sequences: ids (B, L) int64 and a mask (B, L), ``None`` if all are equally long."""
    longest = max(len(sequence) for sequence in sequences)
    ids = np.full((len(sequences), longest), pad_id, dtype=np.int64)
    for row, sequence in enumerate(sequences):
        ids[row, : len(sequence)] = sequence
    lengths = np.fromiter((len(sequence) for sequence in sequences), np.int64, len(sequences))
    mask = None if (lengths == longest).all() else torch.from_numpy(np.arange(longest) < lengths[:, None])
    return torch.from_numpy(ids), mask


def collate(corpus: EncodedCorpus, indices: Sequence[int]) -> Batch:
    """The pairs at ``indices`` as one padded batch."""
    sources = [np.append(corpus.source.row(i), EOS) for i in indices]
    targets = [corpus.target.row(i) for i in indices]
    source, source_mask = pad(sources)
    target_in, target_mask = pad([np.concatenate([[BOS], target]) for target in targets])
    target_out, _ = pad([np.append(target, EOS) for target in targets])
    return Batch(
        source,
        source_mask,
        target_in,
        target_out,
        target_mask,
        list(indices),
        sum(len(target) + 1 for target in targets),
        sum(len(source) for source in sources),
    )


def plan_batches(
    source_lengths: np.ndarray, target_lengths: np.ndarray, batch_tokens: int, *, seed: int, epoch: int
) -> list[np.ndarray]:
    """Cut a corpus into batches of at most ``batch_tokens`` target tokens, padding included.

    Pairs of like lengths share a batch; which of them do, and the order of the batches, changes from
    epoch to epoch and depends on ``(seed, epoch)`` alone. A pair longer than the budget is a batch.
    """
    generator = np.random.Generator(np.random.PCG64([seed, epoch]))
    chance = generator.permutation(len(target_lengths))
    order = np.lexsort((chance, source_lengths, target_lengths))
    widths = target_lengths[order] + 1  # with the end of sentence
    batches, start = [], 0
    # The budget also bounds the source, or one pair with a long source would pad a whole batch.
    sources = source_lengths[order] + 1
    while start < len(order):
        stop, widest_source, widest_target = start, 0, 0
        while stop < len(order):
            widest_source = max(widest_source, int(sources[stop]))
            widest_target = max(widest_target, int(widths[stop]))
            count = stop - start + 1
            if count > 1 and (widest_target * count > batch_tokens or widest_source * count > 2 * batch_tokens):
                break
            stop += 1
        batches.append(order[start:stop])
        start = stop
    generator.shuffle(batches)  # type: ignore[arg-type]
    return batches


def sequential_batches(
    source_lengths: np.ndarray, target_lengths: np.ndarray, batch_tokens: int
) -> Iterator[np.ndarray]:
    """Like :func:`plan_batches` but in a fixed order, for scoring."""
    yield from plan_batches(source_lengths, target_lengths, batch_tokens, seed=0, epoch=0)
