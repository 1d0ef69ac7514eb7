"""Attention between pieces to attention between words, for a whole batch.

The end of sentence takes much of the attention, so the order matters: first leave out the pieces that belong
to no source word and renormalise each head's row, then average the heads, then the target pieces.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from translate.corpora.batching import pad
from translate.text.tokenizer import NO_WORD


def piece_to_word(
    piece_words: Sequence[Sequence[int]],
    num_words: int,
    device: torch.device | str,
    further: Sequence[Sequence[tuple[int, int]]] = (),
) -> Tensor:
    """The share of each piece that belongs to each word: (B, pieces, words) float32; padding has no word.

    Args:
        piece_words: the word of each piece, or -1.
        num_words: of the longest sentence.
        device: of the result.
        further: for each sentence, (piece, word) for more words of a piece; its words have equal shares.
    """
    words = pad(piece_words, pad_id=NO_WORD)[0]  # (B, pieces)
    shares = (words.unsqueeze(-1) == torch.arange(num_words)).float()
    more = [(row, *each) for row, cells in enumerate(further) for each in cells]
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


def average_heads(heads: Tensor) -> Tensor:
    """Average (B, H, T, source words) to (B, 1, T, source words); zero rows are left out."""
    return renormalise(heads.mean(dim=1, keepdim=True))


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
