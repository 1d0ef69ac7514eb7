"""The loss of a batch: translation, and what may be added to it."""

from typing import NamedTuple

import torch
from torch import Tensor

from translate.corpora.batching import Batch
from translate.models import Seq2Seq
from translate.training.objective import Loss, cross_entropy
from translate.training.r_drop import divergence, twice


class Guided(NamedTuple):
    """Draws one head's attention to known links: Garg et al. 2019, 4.2."""

    weight: float  # of the loss
    layer: int  # of the attention; its first head is guided
    shift: int = 0  # 1 guides the row whose decoder input a piece is, 0 the row that predicts it


def batch_loss(
    model: Seq2Seq,
    batch: Batch,
    label_smoothing: float,
    precision: torch.dtype,
    guided: Guided | None = None,
    *,
    r_drop: float = 0.0,
) -> Loss:
    """The summed loss of a batch on the model's device; padding does not count.

    With R-Drop the pairs pass twice: half of both losses and of ``r_drop`` times their divergence, which is
    eq. 4 of Liang et al. 2021 halved, so that it remains the loss of one pass.
    """
    if r_drop:
        batch = twice(batch)
    with torch.autocast(batch.source.device.type, dtype=precision, enabled=precision != torch.float32):
        given = batch.source, batch.source_mask, batch.target_in
        if guided is None or batch.guide is None:
            hidden, guiding = model(*given), None
        else:
            hidden, weights = model.forward_with_weights(*given, guided.layer)
            guiding = guided.weight * guided_loss(weights[:, 0, guided.shift :], batch.guide)
        if batch.target_mask is None:
            states, targets = hidden.flatten(0, 1), batch.target_out.flatten()
        else:
            states, targets = hidden[batch.target_mask], batch.target_out[batch.target_mask]
        loss = cross_entropy(
            states, model.output_weight, model.output_bias, targets, label_smoothing=label_smoothing
        )
        total = loss.total if guiding is None else loss.total + guiding
        if r_drop:
            first, second = states.chunk(2)
            apart = divergence(first, second, model.output_weight, model.output_bias)
            return Loss(0.5 * (total + r_drop * apart), 0.5 * loss.likelihood)
        return loss._replace(total=total)


def guided_loss(weights: Tensor, guide: Tensor) -> Tensor:
    """-sum G log A over the rows that have links: Garg et al. 2019, eq. 5, summed instead of averaged.

    Args:
        weights: A, (B, T', S) attention of one head, T' at most T: end-of-sentence has no links.
        guide: G, (B, T, S) rows that sum to 1, or to 0 where nothing is known.
    """
    guide = guide[:, : weights.shape[1]]
    return -(guide * weights.float().clamp(min=1e-9).log()).sum()
