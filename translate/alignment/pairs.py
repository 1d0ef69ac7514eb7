"""Sentence pairs in pieces, batches of them for teacher forcing, and attention pooled from pieces to words.

The end of sentence takes much of the attention, so the order matters: first leave out the pieces that belong
to no source word and renormalise the rows of all heads, then average the heads, then the target pieces.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from translate.corpora.batching import pad, plan_batches
from translate.corpora.images.patches import Image
from translate.errors import UserError
from translate.models.seq2seq import Seq2Seq
from translate.text.tokenizer import BOS, EOS, NO_WORD, Pieces

BATCH_TOKENS = 4096  # target tokens of one batch, padding included
MAX_CELLS = 1 << 22  # B * T * S of one batch; times heads and layers this bounds the memory
MAX_PAIR_CELLS = 1 << 24  # T * S of a lone pair: 4,096 pieces on each side


@dataclass(frozen=True)
class EncodedPair:
    """A sentence pair in pieces.

    Attributes:
        source_ids: pieces with end-of-sentence.
        target_ids: pieces without begin and end of sentence.
        source_piece_words, target_piece_words: the word of each piece; -1 for none, such as end-of-sentence.
        source_further, target_further: (piece, word) for further words of pieces that cover several.
        source_offsets, target_offsets: (start, end) of each word in its text; empty if there is no text.
        picture: the image that was read; its patches are the first source words.
    """

    source_ids: Sequence[int]
    target_ids: Sequence[int]
    source_piece_words: Sequence[int]
    target_piece_words: Sequence[int]
    source_words: list[str]
    target_words: list[str]
    source_further: Sequence[tuple[int, int]] = ()
    target_further: Sequence[tuple[int, int]] = ()
    source_offsets: Sequence[tuple[int, int]] = ()
    target_offsets: Sequence[tuple[int, int]] = ()
    picture: Image | None = None

    @classmethod
    def of(cls, source: Pieces, target: Pieces) -> "EncodedPair":
        """The pair of two results of `Tokenizer.encode_words`."""
        return cls(
            source_ids=[*source.ids, EOS],
            target_ids=target.ids,
            source_piece_words=[*source.piece_words, NO_WORD],
            target_piece_words=target.piece_words,
            source_words=[word.text for word in source.words],
            target_words=[word.text for word in target.words],
            source_further=source.further,
            target_further=target.further,
            source_offsets=[(word.start, word.end) for word in source.words],
            target_offsets=[(word.start, word.end) for word in target.words],
            picture=source.picture,
        )


class PairBatch(NamedTuple):
    """A batch of pairs for a teacher-forced pass, with the words of their pieces."""

    indices: list[int]  # of the pairs
    source: Tensor  # (B, S)
    source_mask: Tensor | None  # (B, S) True = visible
    target_in: Tensor  # (B, T) <s> y1 ... yn
    source_words: Tensor  # (B, S, source words), from `piece_to_word`
    target_words: Tensor  # (B, T - 1, target words)


def pair_batches(
    pairs: Sequence[EncodedPair],
    batch_size: int | None,
    device: torch.device | str,
    *,
    max_cells: int = MAX_CELLS,
) -> Iterator[PairBatch]:
    """Batches of pairs with similar lengths.

    Args:
        batch_size: largest number of pairs in a batch; `None` for no further limit than `BATCH_TOKENS`.
        max_cells: largest B * T * S of a batch of several pairs, padding included.
    Raises:
        UserError: for a batch size below 1.
    """
    if batch_size is not None and batch_size < 1:
        raise UserError(f"batch size is {batch_size}; expected at least 1")
    sources = np.array([len(pair.source_ids) for pair in pairs], dtype=np.int64)
    targets = np.array([len(pair.target_ids) + 1 for pair in pairs], dtype=np.int64)
    for part in plan_batches(sources - 1, targets - 1, BATCH_TOKENS):
        part = part[np.lexsort((targets[part], sources[part]))]
        while len(part):
            count = np.arange(1, len(part) + 1)
            cells = count * np.maximum.accumulate(sources[part]) * np.maximum.accumulate(targets[part])
            size = max(1, int((cells <= max_cells).sum()))
            size = size if batch_size is None else min(size, batch_size)
            yield pair_batch(pairs, part[:size].tolist(), device)
            part = part[size:]


def pair_batch(pairs: Sequence[EncodedPair], indices: list[int], device: torch.device | str) -> PairBatch:
    """The pairs at ``indices``, in their order."""
    chosen = [pairs[index] for index in indices]
    source, source_mask = pad([pair.source_ids for pair in chosen])
    target_in, _ = pad([[BOS, *pair.target_ids] for pair in chosen])
    most = [max(len(pair.source_words) for pair in chosen), max(len(pair.target_words) for pair in chosen)]
    of_source = [pair.source_piece_words for pair in chosen], [pair.source_further for pair in chosen]
    of_target = [pair.target_piece_words for pair in chosen], [pair.target_further for pair in chosen]
    return PairBatch(
        indices=indices,
        source=source.to(device),
        source_mask=None if source_mask is None else source_mask.to(device),
        target_in=target_in.to(device),
        source_words=piece_to_word(*of_source, most[0], device),
        target_words=piece_to_word(*of_target, most[1], device),
    )


def check_lengths(model: Seq2Seq, pairs: Sequence[EncodedPair]) -> None:
    """Raise UserError for a side with too many pieces for the model, or a pair with too many weights."""
    limit = model.max_target_length  # learned positions have the same limit on both sides
    for number, pair in enumerate(pairs, start=1):
        lengths = len(pair.source_ids), len(pair.target_ids) + 1
        if lengths[0] * lengths[1] > MAX_PAIR_CELLS:
            raise UserError(
                f"pair {number}: its sides have {lengths[0]:,} and {lengths[1]:,} pieces; expected at most "
                f"{MAX_PAIR_CELLS:,} weights, one times the other; leave the pair out"
            )
        for side, length in zip(("source", "target"), lengths, strict=True):
            if limit is not None and length > limit:
                raise UserError(
                    f"pair {number}: its {side} has {length} pieces, but the model has learned "
                    f"{limit} positions (model.max_length); leave the pair out"
                )


def piece_to_word(
    piece_words: Sequence[Sequence[int]],
    further: Sequence[Sequence[tuple[int, int]]],
    num_words: int,
    device: torch.device | str,
) -> Tensor:
    """The share of each piece that belongs to each word: (B, pieces, words) float32; padding has no word.

    Args:
        piece_words: the word of each piece, or -1.
        further: for every sentence, (piece, word) for more words of a piece; its words have equal shares.
        num_words: of the longest sentence.
        device: of the result.
    """
    words = pad(piece_words, pad_id=NO_WORD)[0]  # (B, pieces)
    shares = (words.unsqueeze(-1) == torch.arange(num_words)).float()
    more = [(row, *cell) for row, cells in enumerate(further) for cell in cells]
    if more:
        shares[tuple(torch.tensor(more).unbind(1))] = 1.0
        shares = renormalise(shares)
    return shares.to(device)


def pool_source(weights: Tensor, source_words: Tensor) -> Tensor:
    """Sum the weights of each source word's pieces, and renormalise each row.

    Args:
        weights: (B, H, T, S); weights of source padding and end of sentence are dropped. Absolute values are
            taken: the delta rule has negative weights.
        source_words: (B, S, source words) from `piece_to_word`.
    Returns:
        (B, H, T, source words), rows that sum to 1, or are zero if no word has any weight.
    """
    B, H, T, S = weights.shape
    words = weights.float().abs().reshape(B, H * T, S) @ source_words
    return renormalise(words).view(B, H, T, source_words.shape[-1])


def pool_target(rows: Tensor, target_words: Tensor) -> Tensor:
    """Average the rows of each target word's pieces, and renormalise.

    Args:
        rows: (B, C, T, source words).
        target_words: (B, T, target words) from `piece_to_word`.
    Returns:
        (B, C, target words, source words), rows that sum to 1, or are zero.
    """
    return renormalise(target_words.transpose(1, 2).unsqueeze(1) @ rows)


def renormalise(rows: Tensor) -> Tensor:
    """Divide by the sum over the last dimension; zero rows stay zero."""
    total = rows.sum(dim=-1, keepdim=True)
    # Below the smallest normal number the quotient is noise, and CPU and GPU disagree about it.
    visible = total >= torch.finfo(rows.dtype).tiny
    return torch.where(visible, rows / total.where(visible, 1.0), 0.0)
