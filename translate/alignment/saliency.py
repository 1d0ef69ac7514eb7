"""Alignments that read no attention: saliency from gradients, and erasure of source words."""

import torch
from torch import Tensor

from translate.alignment.pairs import PairBatch
from translate.alignment.pool import pool_source, pool_target, renormalise
from translate.models.seq2seq import Seq2Seq

MAX_SCORES = 2**22  # scores over the vocabulary in memory at a time


def gradient(model: Seq2Seq, batch: PairBatch) -> Tensor:
    """Gradient times input between words: (B, target words, source words), rows that sum to 1 or are zero.

    |x_s . d log p(y_t | y_<t, x) / d x_s| for the embedding x_s of each source piece, before positions are
    added: the first-order estimate of the effect of erasing it (Denil et al. 2014). Ding et al. 2019 show
    that such saliency aligns better than attention; they use the probability and average over noise.
    """
    pieces = piece_gradients(model, batch).unsqueeze(1)
    return pool_target(pool_source(pieces, batch.source_words), batch.target_words).squeeze(1)


def piece_gradients(model: Seq2Seq, batch: PairBatch) -> Tensor:
    """Absolute gradient times input of each target piece and source piece: (B, T - 1, S)."""
    wanted = batch.target_in[:, 1:]
    # cuDNN refuses the backward pass of a recurrence in evaluation mode.
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        embedded = model.embed_source(batch.source).detach().requires_grad_()
        hidden = model.read_target(
            model.encode_embedded(embedded, batch.source_mask, *model.parts_of(batch.source)), batch.target_in
        )
        rows = [batch.source.new_zeros(batch.source.shape[:2], dtype=torch.float32)] * wanted.shape[1]
        # One backward pass for each position serves all sentences: a sentence's gradients stay in its row.
        for position in range(wanted.shape[1]):
            scores = torch.log_softmax(model.logits(hidden[:, position]).float(), dim=-1)
            chosen = scores.gather(1, wanted[:, position : position + 1])
            (slope,) = torch.autograd.grad(chosen.sum(), embedded, retain_graph=True)
            rows[position] = (slope * embedded.detach()).sum(-1).abs().float()
    return torch.stack(rows, 1) if rows else hidden.new_zeros(len(wanted), 0, batch.source.shape[1])


def erasure(model: Seq2Seq, batch: PairBatch) -> Tensor:
    """Leave-one-out drops between words: (B, target words, source words), rows that sum to 1 or are zero.

    max(0, log p(w | x) - log p(w | x without v)) for the pieces of each target word w, given the target
    before it, and each source word v, whose pieces are removed from the sentence (Li et al. 2016, erasure of
    words). Takes one pass for each word of the longest source.
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
    visible = batch.source.new_ones(batch.source.shape[:2], dtype=torch.bool) if mask is None else mask
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
    """Drop the positions of sources (B, S, ...) where kept (B, S) is False; returns the rest as `pad`."""
    order = torch.argsort(~kept, dim=1, stable=True)
    lengths = kept.sum(1)
    longest = int(lengths.max())
    mask = torch.arange(longest, device=source.device) < lengths.unsqueeze(1)
    rows = torch.arange(len(source), device=source.device).unsqueeze(1)
    return source[rows, order[:, :longest]], None if bool(mask.all()) else mask


def word_log_probabilities(
    model: Seq2Seq, source: Tensor, source_mask: Tensor | None, target_in: Tensor, target_words: Tensor
) -> Tensor:
    """Sum of the log-probabilities of each target word's pieces, nats: (B, target words)."""
    wanted = target_in[:, 1:]
    states = model(source, source_mask, target_in)[:, :-1].flatten(0, 1)
    ids = wanted.flatten()
    rows = max(16, MAX_SCORES // len(model.output_weight))
    parts = []
    for begin in range(0, len(states), rows):
        scores = torch.log_softmax(model.logits(states[begin : begin + rows]).float(), dim=-1)
        parts.append(scores.gather(1, ids[begin : begin + rows, None]).squeeze(1))
    pieces = torch.cat(parts).view(wanted.shape)
    return torch.einsum("btw,bt->bw", (target_words > 0).float(), pieces)
