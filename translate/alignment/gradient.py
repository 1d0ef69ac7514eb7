"""Alignments from gradients: how much a target piece's log-probability changes with each source embedding."""

import torch
from torch import Tensor

from translate.alignment.forced import ForcedBatch
from translate.alignment.pool import pool_source, pool_target
from translate.models.seq2seq import Seq2Seq


def gradient(model: Seq2Seq, batch: ForcedBatch) -> Tensor:
    """Gradient times input between words: (B, target words, source words), rows that sum to 1 or are zero.

    |x_s . d log p(y_t | y_<t, x) / d x_s| for the embedding x_s of each source piece, before places are put
    in: the first-order estimate of what erasing it would change (Denil et al. 2014). Ding et al. 2019 show
    such saliency to align better than attention does; they take the probability and average over noise.
    """
    return pool_target(
        pool_source(piece_gradients(model, batch).unsqueeze(1), batch.source_words), batch.target_words
    ).squeeze(1)


def piece_gradients(model: Seq2Seq, batch: ForcedBatch) -> Tensor:
    """Gradient times input, absolute, of each target piece and source piece: (B, T - 1, S)."""
    wanted = batch.target_in[:, 1:]
    # cuDNN refuses the backward pass of a recurrence in evaluation mode.
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        embedded = model.embed_source(batch.source).detach().requires_grad_()
        hidden = model.read_target(model.encode_embedded(embedded, batch.source_mask), batch.target_in)
        rows = [batch.source.new_zeros(batch.source.shape, dtype=torch.float32)] * wanted.shape[1]
        for place in range(wanted.shape[1]):  # one pass backward each: the sentences of a batch do not meet
            scores = torch.log_softmax(model.logits(hidden[:, place]).float(), dim=-1)
            chosen = scores.gather(1, wanted[:, place : place + 1])
            (slope,) = torch.autograd.grad(chosen.sum(), embedded, retain_graph=True)
            rows[place] = (slope * embedded.detach()).sum(-1).abs().float()
    return torch.stack(rows, 1) if rows else hidden.new_zeros(len(wanted), 0, batch.source.shape[1])
