"""Alignments from erasure: how much less likely a target word is without each source word."""

import torch
from torch import Tensor

from translate.alignment.forced import ForcedBatch
from translate.alignment.pool import renormalise
from translate.models.seq2seq import Seq2Seq

CHUNK_ELEMENTS = 2**22  # scores held at a time


def erasure(model: Seq2Seq, batch: ForcedBatch) -> Tensor:
    """Leave-one-out drops between words: (B, target words, source words), rows that sum to 1 or are zero.

    max(0, log p(w | x) - log p(w | x without v)) for the pieces of each target word w, given the target
    before it, and each source word v, whose pieces are taken out of the sentence (Li et al. 2016, erasure of
    words). One pass over the batch for each word of its longest source; shorter ones sit the last ones out.
    """
    drops = torch.zeros(
        len(batch.source),
        batch.target_words.shape[-1],
        batch.source_words.shape[-1],
        device=batch.source.device,
    )
    if drops.numel() == 0:
        return drops
    whole = word_log_probabilities(
        model, batch.source, batch.source_mask, batch.target_in, batch.target_words
    )
    mask = batch.source_mask
    visible = torch.ones_like(batch.source, dtype=torch.bool) if mask is None else mask
    for word in range(drops.shape[-1]):
        erased = batch.source_words[:, :, word] > 0
        rows = erased.any(1).nonzero().squeeze(1)  # a GPU synchronises here
        if len(rows) == 0:
            continue
        source, source_mask = keep(batch.source[rows], (visible & ~erased)[rows])
        without = word_log_probabilities(
            model, source, source_mask, batch.target_in[rows], batch.target_words[rows]
        )
        drops[rows, :, word] = (whole[rows] - without).clamp_min(0)
    return renormalise(drops)


def keep(source: Tensor, kept: Tensor) -> tuple[Tensor, Tensor | None]:
    """Sentences (B, S) with only the pieces that are kept (B, S) bool, and their mask as of `pad`."""
    order = torch.argsort(~kept, dim=1, stable=True)
    lengths = kept.sum(1)
    longest = int(lengths.max())
    mask = torch.arange(longest, device=source.device) < lengths.unsqueeze(1)
    return source.gather(1, order)[:, :longest], None if bool(mask.all()) else mask


def word_log_probabilities(
    model: Seq2Seq, source: Tensor, source_mask: Tensor | None, target_in: Tensor, target_words: Tensor
) -> Tensor:
    """Sum of the log-probabilities of each target word's pieces, nats: (B, target words)."""
    wanted = target_in[:, 1:]
    states = model(source, source_mask, target_in)[:, :-1].flatten(0, 1)
    ids = wanted.flatten()
    rows = max(16, CHUNK_ELEMENTS // len(model.output_weight))
    found = []
    for begin in range(0, len(states), rows):
        scores = torch.log_softmax(model.logits(states[begin : begin + rows]).float(), dim=-1)
        found.append(scores.gather(1, ids[begin : begin + rows, None]).squeeze(1))
    pieces = torch.cat(found).view(wanted.shape)
    return torch.einsum("btw,bt->bw", (target_words > 0).float(), pieces)
