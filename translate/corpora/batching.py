"""Batches of about equally long pairs under a budget of target tokens."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from translate.text.tokenizer import BOS, EOS, PAD

PLACE_BITS = 16  # a link of pieces is packed as target place << PLACE_BITS | source place
ROUNDING = 1e-9  # so that a batch that is full to the last place counts as one


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
    links: Ragged | None = None  # of pieces, packed: where the attention should be

    def __len__(self) -> int:
        return len(self.source.offsets) - 1


@dataclass(frozen=True)
class Batch:
    """Padded pairs; a mask is ``None`` where nothing is padded (True = visible)."""

    source: Tensor  # (B, S) ids, ending in </s>
    source_mask: Tensor | None  # (B, S) bool
    target_in: Tensor  # (B, T) <s> y1 ... yn
    target_out: Tensor  # (B, T) y1 ... yn </s>
    target_mask: Tensor | None  # (B, T) bool
    indices: list[int]  # places of the pairs in the corpus
    num_tokens: int  # target tokens, padding not counted
    num_source_tokens: int
    guide: Tensor | None = None  # (B, T, S) where the attention should be; rows sum to 1, or 0 where unknown

    def to(self, device: torch.device) -> "Batch":
        def move(tensor: Tensor | None) -> Tensor | None:
            if tensor is None or device.type == "cpu":
                return tensor
            if device.type == "cuda":
                return tensor.pin_memory().to(device, non_blocking=True)
            return tensor.to(device)

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
            move(self.guide),
        )


def pad(
    sequences: Sequence[Sequence[int] | np.ndarray], *, pad_id: int = PAD
) -> tuple[Tensor, Tensor | None]:
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
        None if corpus.links is None else _guide(corpus.links, indices, (*target_in.shape, source.shape[1])),
    )


def _guide(links: Ragged, indices: Sequence[int], shape: tuple[int, int, int]) -> Tensor:
    """Rows (B, T, S) that are uniform over the source places each target place is linked to."""
    guide = np.zeros(shape, np.float32)
    for row, index in enumerate(indices):
        packed = links.row(index)
        guide[row, packed >> PLACE_BITS, packed & (1 << PLACE_BITS) - 1] = 1.0
    return torch.from_numpy(guide / np.maximum(guide.sum(2, keepdims=True), 1.0))


def plan_batches(
    source_lengths: np.ndarray, target_lengths: np.ndarray, batch_tokens: int, *, seed: int, epoch: int
) -> list[np.ndarray]:
    """Cut a corpus into batches of at most ``batch_tokens`` target tokens, padding included.

    A part that is over the budget is cut in two, at a source or target length, until all parts fit: a
    batch is a small rectangle of the plane of both lengths. Which pairs share a batch, and the order of the
    batches, changes from epoch to epoch and depends on ``(seed, epoch)`` alone. A pair longer than the
    budget is a batch.
    """
    generator = np.random.Generator(np.random.PCG64([seed, epoch]))
    lengths = np.stack([source_lengths, target_lengths]).astype(np.int32) + 1  # with the end of sentence
    # The budget also bounds the source, or one pair with a long source would pad a whole batch.
    budgets = np.array([2 * batch_tokens, batch_tokens])
    # A cut at some lengths is favoured in this epoch, so that no rectangle is the same in all of them.
    favour = generator.uniform(0.8, 1.0, lengths.max(initial=0) + 1)
    parts: list[np.ndarray] = [generator.permutation(len(target_lengths))]
    batches: list[np.ndarray] = []
    while parts:
        part = parts.pop()
        if not _fits(lengths[:, part], budgets):
            parts.extend(_cut(part, lengths[:, part], budgets, favour))
        elif batches and _fits(lengths[:, both := np.concatenate([batches[-1], part])], budgets):
            batches[-1] = both  # neighbours in the plane, too
        elif len(part):
            batches.append(part)
    generator.shuffle(batches)
    return batches


def _fits(lengths: np.ndarray, budgets: np.ndarray) -> bool:
    """Whether pairs with ``lengths`` (2, number of pairs) can be one batch."""
    count = lengths.shape[1]
    return count <= 1 or bool((count * lengths.max(axis=1) <= budgets).all())


def _cut(part: np.ndarray, lengths: np.ndarray, budgets: np.ndarray, favour: np.ndarray) -> list[np.ndarray]:
    """Cut a part where most padding is saved among the cuts that need fewest batches; longer pairs first."""
    longest = lengths.max(axis=1)
    padding = longest - lengths.mean(axis=1)
    if not padding.any():
        size = max(1, int((budgets // longest).min()))
        return [part[start : start + size] for start in range(0, len(part), size)][::-1]
    side = int(padding[1] >= padding[0])
    order = np.argsort(lengths[side], kind="stable")
    below = lengths[side, order[:-1]]  # the longest below each place to cut at
    count = np.arange(1, len(part))
    shares = longest / budgets  # of a batch, for each pair
    widest = np.maximum(below / budgets[side], shares[1 - side])
    needed = np.ceil(count * widest - ROUNDING) + np.ceil((len(part) - count) * shares.max() - ROUNDING)
    saved = count * (longest[side] - below) * favour[below]
    place = 1 + int(np.where(needed == needed.min(), saved, -1.0).argmax())
    return [part[order[place:]], part[order[:place]]]


def sequential_batches(
    source_lengths: np.ndarray, target_lengths: np.ndarray, batch_tokens: int
) -> Iterator[np.ndarray]:
    """Like :func:`plan_batches` but in a fixed order, for scoring."""
    yield from plan_batches(source_lengths, target_lengths, batch_tokens, seed=0, epoch=0)
