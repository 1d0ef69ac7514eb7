"""Batches of pairs with similar lengths, within a budget of target tokens."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from translate.corpora.encoded import EncodedCorpus, Rows
from translate.corpora.images.patches import all_cells, end_source, has_patches
from translate.links.links import Links
from translate.text.documents import own_start
from translate.text.tokenizer import BOS, EOS, NO_WORD, PAD, Pieces

POSITION_BITS = 16  # a link of pieces is packed as target position << POSITION_BITS | source position
ROUNDING = 1e-9  # so that an exactly full batch counts as one


@dataclass(frozen=True)
class Batch:
    """Padded pairs; a mask is ``None`` where nothing is padded (True = visible)."""

    source: Tensor  # (B, S) ids, ending in </s>; or cells (B, S, C)
    source_mask: Tensor | None  # (B, S) bool
    target_in: Tensor  # (B, T) <s> y1 ... yn
    target_out: Tensor  # (B, T) y1 ... yn </s>
    target_mask: Tensor | None  # (B, T) bool, always on the CPU
    indices: list[int]  # of the pairs in the corpus
    num_tokens: int  # target tokens without padding
    guide: Tensor | None = None  # (B, T, S) wanted attention; rows sum to 1, or 0 where it is unknown

    def to(self, device: torch.device) -> "Batch":
        """The batch for a model on ``device``."""
        found = replace(self, target_mask=None).by_tensor(lambda tensor: moved(tensor, device))
        return replace(found, target_mask=self.target_mask)

    def by_tensor(self, change: Callable[[Tensor], Tensor]) -> "Batch":
        """The batch with every tensor changed; all have a row for every pair."""
        changed: dict[str, Any] = {
            name: change(value) for name, value in vars(self).items() if isinstance(value, Tensor)
        }
        return replace(self, **changed)

    def real_targets(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """The rows of ``states`` (B, T, D) that predict a token, (N, D), and these tokens, (N,)."""
        rows, targets = states.flatten(0, 1), self.target_out.flatten()
        if self.target_mask is None:
            return rows, targets
        # Found on the CPU: a GPU would be waited for to learn how many there are.
        places = moved(self.target_mask.flatten().nonzero().squeeze(1), rows.device)
        return rows[places], targets[places]


def moved(tensor: Tensor, device: torch.device) -> Tensor:
    """A tensor of the CPU on ``device``; the CPU does not wait for a copy to a GPU."""
    if device.type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


def pad(
    sequences: Sequence[Sequence[int | bytes] | np.ndarray], *, pad_id: int = PAD
) -> tuple[Tensor, Tensor | None]:
    """Stack sequences: ids (B, L) int64 and a mask (B, L), ``None`` if all are equally long.

    Sources with patches become cells (B, L, C) int32, see `translate/corpora/images/patches.py`.
    """
    kind: type = np.int64
    if any(map(has_patches, sequences)):
        sequences, pad_id, kind = all_cells(sequences), 0, np.int32
    longest = max(len(sequence) for sequence in sequences)
    ids = np.full((len(sequences), longest, *np.shape(sequences[0])[1:]), pad_id, dtype=kind)
    for row, sequence in enumerate(sequences):
        ids[row, : len(sequence)] = sequence
    lengths = np.fromiter((len(sequence) for sequence in sequences), np.int64, len(sequences))
    mask = None if (lengths == longest).all() else torch.from_numpy(np.arange(longest) < lengths[:, None])
    return torch.from_numpy(ids), mask


def collate(corpus: EncodedCorpus, indices: Sequence[int]) -> Batch:
    """The pairs at ``indices`` as one padded batch."""
    sources = [end_source(corpus.source.row(i), EOS) for i in indices]
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
        None if corpus.links is None else _guide(corpus.links, indices, sources, target_in.shape[1]),
    )


def _guide(links: Rows, indices: Sequence[int], sources: Sequence[Any], num_targets: int) -> Tensor:
    """Rows (B, T, S) that are uniform over the source positions to which a target position is linked.

    Links count from the sentence's own first piece, behind those of previous sentences.
    """
    guide = np.zeros((len(sources), num_targets, max(map(len, sources))), np.float32)
    for row, (index, source) in enumerate(zip(indices, sources, strict=True)):
        packed = links.row(index)
        positions = own_start(source) + (packed & (1 << POSITION_BITS) - 1)
        guide[row, packed >> POSITION_BITS, positions] = 1.0
    return torch.from_numpy(guide / np.maximum(guide.sum(2, keepdims=True), 1.0))


def piece_links(source: Pieces, target: Pieces, links: Links) -> list[int]:
    """Links of all pieces of linked words, packed as ``target << POSITION_BITS | source``.

    A row of the guide is then uniform over the pieces of all source words to which its target word is linked:
    Garg et al. 2019, 4.2.
    """
    by_target: dict[int, set[int]] = {}
    for source_word, target_word in links:
        by_target.setdefault(target_word, set()).add(source_word)
    source_pieces, packed = _pieces_by_word(source), set()
    for target_word, target_pieces in _pieces_by_word(target).items():
        for source_word in by_target.get(target_word, ()):
            positions = source_pieces.get(source_word, ())
            packed |= {t << POSITION_BITS | s for t in target_pieces for s in positions}
    return sorted(packed)


def _pieces_by_word(pieces: Pieces) -> dict[int, list[int]]:
    """The pieces of each word; if characters are words, a piece may belong to several."""
    by_word: dict[int, list[int]] = {}
    for piece, word in (*enumerate(pieces.piece_words), *pieces.further):
        if word != NO_WORD:
            by_word.setdefault(word, []).append(piece)
    return by_word


def plan_batches(
    source_lengths: np.ndarray,
    target_lengths: np.ndarray,
    batch_tokens: int,
    *,
    seed: int = 0,
    epoch: int = 0,
    block: int = 0,
) -> list[np.ndarray]:
    """Cut a corpus into batches of at most ``batch_tokens`` target tokens, padding included.

    A part over the budget is cut in two at a source or target length until all parts fit, so that a batch is
    a small rectangle in the plane of both lengths. The pairs of a batch and the order of the batches change
    from epoch to epoch, and depend only on ``(seed, epoch, block)``. A pair longer than the budget is a
    batch.

    Returns:
        For each batch, the indexes of its pairs.
    """
    generator = np.random.Generator(np.random.PCG64([seed, epoch, block] if block else [seed, epoch]))
    lengths = np.stack([source_lengths, target_lengths]).astype(np.int64) + 1  # with the end of sentence
    # The budget also bounds the source, or one pair with a long source would pad a whole batch.
    budgets = np.array([2 * batch_tokens, batch_tokens])
    # Each epoch favours cuts at other lengths, so that rectangles differ between epochs.
    favour = generator.uniform(0.8, 1.0, lengths.max(initial=0) + 1)
    parts: list[np.ndarray] = [generator.permutation(len(target_lengths))]
    batches: list[np.ndarray] = []
    while parts:
        part = parts.pop()
        if not _fits(lengths[:, part], budgets):
            parts.extend(_cut(part, lengths[:, part], budgets, favour))
        elif batches and _fits(lengths[:, both := np.concatenate([batches[-1], part])], budgets):
            batches[-1] = both  # they are neighbours in the plane
        elif len(part):
            batches.append(part)
    generator.shuffle(batches)
    return batches


def _fits(lengths: np.ndarray, budgets: np.ndarray) -> bool:
    """Whether pairs with ``lengths`` (2, number of pairs) fit into one batch."""
    count = lengths.shape[1]
    return count <= 1 or bool((count * lengths.max(axis=1) <= budgets).all())


def _cut(part: np.ndarray, lengths: np.ndarray, budgets: np.ndarray, favour: np.ndarray) -> list[np.ndarray]:
    """Make the cut that saves most padding, among those that need fewest batches; longer pairs come first."""
    longest = lengths.max(axis=1)
    padding = longest - lengths.mean(axis=1)
    if not padding.any():
        size = max(1, int((budgets // longest).min()))
        return [part[start : start + size] for start in range(0, len(part), size)][::-1]
    side = int(padding[1] >= padding[0])
    order = np.argsort(lengths[side], kind="stable")
    below = lengths[side, order[:-1]]  # the greatest length below each possible cut
    count = np.arange(1, len(part))
    shares = longest / budgets  # of a batch, that the pairs take
    widest = np.maximum(below / budgets[side], shares[1 - side])
    needed = np.ceil(count * widest - ROUNDING) + np.ceil((len(part) - count) * shares.max() - ROUNDING)
    saved = count * (longest[side] - below) * favour[below]
    cut = 1 + int(np.where(needed == needed.min(), saved, -1.0).argmax())
    return [part[order[cut:]], part[order[:cut]]]
