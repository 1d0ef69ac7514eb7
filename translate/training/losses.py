"""The loss of a batch: a sum of up to three terms.

Translation: label-smoothed cross-entropy of the reference. Guided alignment: one attention head learns known
links (Garg et al. 2019). R-Drop: two passes with other dropout learn to predict alike (Liang et al. 2021).
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from translate.corpora.batching import Batch
from translate.models import Seq2Seq
from translate.training.objective import CHUNK_ELEMENTS, Loss, cross_entropy


class GuidedAlignment(NamedTuple):
    """Which head learns the links, and how much that counts: Garg et al. 2019, 4.2."""

    weight: float  # of the term
    layer: int  # of the attention; its first head learns the links
    shift: int = 0  # 0: the row that predicts a token learns its links; 1: the row that reads it


@dataclass(frozen=True)
class LossTerms:
    """The terms of the loss beside the cross-entropy, and their weights.

    Attributes:
        label_smoothing: share of the probability that is spread evenly over the vocabulary.
        r_drop: weight of the divergence of two dropout passes; 0 for one pass.
        guided_alignment: ``None`` leaves the attention alone.
    """

    label_smoothing: float = 0.0
    r_drop: float = 0.0
    guided_alignment: GuidedAlignment | None = None


def batch_loss(
    model: Seq2Seq,
    batch: Batch,
    terms: LossTerms = LossTerms(),
    precision: torch.dtype = torch.float32,
) -> Loss:
    """The loss of a batch on the model's device, summed over its target tokens.

    loss = translation + weight * guided alignment; with R-Drop the pairs pass twice, and
    loss = (both passes + r_drop * divergence) / 2, eq. 4 of Liang et al. 2021 halved to the size of one pass.
    """
    guided = terms.guided_alignment
    if terms.r_drop:
        batch = twice(batch)
    with torch.autocast(batch.source.device.type, dtype=precision, enabled=precision != torch.float32):
        inputs = batch.source, batch.source_mask, batch.target_in
        alignment = None
        if guided is None or batch.guide is None:
            hidden = model(*inputs)  # (B, T, D)
        else:
            hidden, weights = model.forward_with_weights(*inputs, guided.layer)
            alignment = guided.weight * guided_alignment_loss(weights[:, 0, guided.shift :], batch.guide)
        states, targets = batch.real_targets(hidden)  # (N, D), (N,)
        output = model.output_weight, model.output_bias
        translation = cross_entropy(states, *output, targets, label_smoothing=terms.label_smoothing)
        total = translation.total if alignment is None else translation.total + alignment
        if not terms.r_drop:
            return translation._replace(total=total)
        first, second = states.chunk(2)
        total = 0.5 * (total + terms.r_drop * divergence(first, second, *output))
        return Loss(total, 0.5 * translation.likelihood)


def guided_alignment_loss(weights: Tensor, links: Tensor) -> Tensor:
    """-sum G log A over the rows that have links: Garg et al. 2019, eq. 5, summed instead of averaged.

    Args:
        weights: A, (B, T', S) attention of one head, T' at most T: end-of-sentence has no links.
        links: G, (B, T, S) rows that sum to 1, or to 0 where no link is known.
    """
    links = links[:, : weights.shape[1]]
    return -(links * weights.float().clamp(min=1e-9).log()).sum()


def twice(batch: Batch) -> Batch:
    """The batch with all pairs repeated after the last one; its counts stay those of one pass."""

    def repeated(tensor: Tensor | None) -> Tensor | None:
        return None if tensor is None else torch.cat([tensor, tensor])

    return replace(
        batch,
        source=torch.cat([batch.source, batch.source]),
        source_mask=repeated(batch.source_mask),
        target_in=torch.cat([batch.target_in, batch.target_in]),
        target_out=torch.cat([batch.target_out, batch.target_out]),
        target_mask=repeated(batch.target_mask),
        guide=repeated(batch.guide),
    )


def divergence(first: Tensor, second: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """The symmetric divergence of two passes, summed over tokens: eq. 2, (KL(p|q) + KL(q|p)) / 2.

    It is sum (p - q) (log p - log q) / 2. The scores (N, V) are computed chunk by chunk, and again for the
    gradient, so they are never held for all tokens.

    Args:
        first: hidden states (N, D) of one pass.
        second: of the other pass, (N, D).
        weight: (V, D) output embedding.
        bias: (V,) or ``None``.
    """
    rows = max(16, CHUNK_ELEMENTS // weight.shape[0])
    total = first.new_zeros((), dtype=torch.promote_types(first.dtype, torch.float32))
    for one, two in zip(first.split(rows), second.split(rows), strict=True):
        part = checkpoint(_divergence, one, two, weight, bias, use_reentrant=False, preserve_rng_state=False)
        total = total + part
    return total


def _divergence(first: Tensor, second: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    precise = torch.promote_types(first.dtype, torch.float32)
    one, two = (
        torch.log_softmax(F.linear(hidden, weight, bias).to(precise), -1) for hidden in (first, second)
    )
    return 0.5 * ((one.exp() - two.exp()) * (one - two)).sum()
