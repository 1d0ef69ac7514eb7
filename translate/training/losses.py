"""The loss of a batch: a sum of up to three terms, without the scores of all tokens in memory at once.

Translation: label-smoothed cross-entropy of the reference. Guided alignment: one attention head learns known
links (Garg et al. 2019). R-Drop: two passes with other dropout learn to predict alike (Liang et al. 2021).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from translate.attention.kernels import chunk_elements
from translate.attention.kernels.probabilities import probabilities
from translate.corpora.batching import Batch
from translate.models import Seq2Seq

# Scores held at a time on a CPU: 16 MiB in float32, about the cache of a few cores; but at least as many rows
# as the weight has columns, since its whole gradient is read and written for every chunk.
CHUNK_ELEMENTS = 2**22
BLOCK = 8192  # rows of that gradient that a product in half precision fills at a time, within the cache


class Loss(NamedTuple):
    """Sums over the tokens, in nats."""

    total: Tensor  # label-smoothed, with a gradient
    likelihood: Tensor  # negative log-likelihood, without one


class GuidedAlignment(NamedTuple):
    """The head that learns the links, and the weight of that: Garg et al. 2019, 4.2."""

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
    model: Seq2Seq, batch: Batch, terms: LossTerms = LossTerms(), precision: torch.dtype = torch.float32
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


def cross_entropy(
    hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, *, label_smoothing: float = 0.0
) -> Loss:
    """Label-smoothed cross-entropy (Szegedy et al. 2016, 7) of softmax(hidden weight^T + bias), summed.

    The gradient is computed together with the loss, chunk by chunk, so (N, V) is never held as a whole.

    Args:
        hidden: (N, D).
        weight: (V, D).
        bias: (V,) or ``None``.
        targets: (N,) int64.
        label_smoothing: share of the probability that is spread evenly over the vocabulary.
    """
    device = hidden.device.type
    if torch.is_autocast_enabled(device):
        hidden = hidden.to(torch.get_autocast_dtype(device))
    with torch.autocast(device, enabled=False):  # below, every product chooses its own precision
        if not torch.is_grad_enabled():
            totals = _forward(hidden, weight, bias, targets, label_smoothing, None)
        else:
            totals = _CrossEntropy.apply(hidden, weight, bias, targets, label_smoothing)
    return Loss(totals[0], totals[1])


class _Gradients(NamedTuple):
    hidden: Tensor
    weight: Tensor
    bias: Tensor | None


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, label_smoothing: float
    ) -> tuple[Tensor, Tensor]:
        gradients = _Gradients(
            torch.empty_like(hidden),
            torch.zeros_like(weight),
            None if bias is None else torch.zeros_like(bias),
        )
        total, likelihood = _forward(hidden, weight, bias, targets, label_smoothing, gradients)
        ctx.save_for_backward(*gradients)
        ctx.mark_non_differentiable(likelihood)
        return total, likelihood

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor | None, ...]:
        hidden, weight, bias = ctx.saved_tensors
        scale = outer[0]
        return (
            hidden * scale.to(hidden.dtype),
            weight.mul_(scale),  # as large as the weight: nothing else keeps it
            None if bias is None else bias * scale,
            None,
            None,
        )


def _forward(
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    targets: Tensor,
    label_smoothing: float,
    gradients: _Gradients | None,
) -> tuple[Tensor, Tensor]:
    """Loss sums; fills ``gradients`` if given.

    The gradient of the scores is p - (1 - e) onehot - e / V. Its constant part reaches hidden states and
    weights as sums that need no pass over the chunk.
    """
    precise = torch.float64 if hidden.dtype == torch.float64 else torch.float32
    cast_weight = weight.to(hidden.dtype)
    vocabulary = weight.shape[0]
    uniform = label_smoothing / vocabulary
    weight_sum = weight.sum(0)  # (D,)
    bias_sum = bias.sum() if bias is not None else weight.new_zeros(())
    total = hidden.new_zeros((), dtype=precise)
    likelihood = hidden.new_zeros((), dtype=precise)
    rows = _rows(weight)
    for start in range(0, hidden.shape[0], rows):
        states, wanted = hidden[start : start + rows], targets[start : start + rows, None]
        predicted, wanted_log, normalisers = probabilities(
            states, cast_weight, bias, wanted, exact=gradients is None
        )
        likelihood -= wanted_log.sum()
        # Sum of log p over the vocabulary = sum of scores - V log Z, and log Z = score - log p at the target.
        score_sum = (states.to(precise) @ weight_sum.to(precise)).sum() + bias_sum * states.shape[0]
        total -= (1 - label_smoothing) * wanted_log.sum() + uniform * (
            score_sum - vocabulary * normalisers.sum()
        )
        if gradients is None:
            continue
        predicted[torch.arange(len(states), device=states.device), wanted.squeeze(1)] += label_smoothing - 1
        slope = predicted.to(hidden.dtype)
        torch.mm(slope, cast_weight, out=gradients.hidden[start : start + rows])
        if slope.dtype == gradients.weight.dtype:
            gradients.weight.addmm_(slope.t(), states)
        else:  # a product in half precision, summed over the chunks in the weight's
            for block, columns in zip(gradients.weight.split(BLOCK), slope.t().split(BLOCK), strict=True):
                block.add_(columns @ states)
        if gradients.bias is not None:
            gradients.bias.add_(predicted.sum(0))
    if gradients is not None:
        gradients.hidden.sub_((uniform * weight_sum).to(hidden.dtype))
        gradients.weight.sub_(uniform * hidden.sum(0, dtype=weight.dtype))
        if gradients.bias is not None:
            gradients.bias.sub_(uniform * hidden.shape[0])
    return total, likelihood


def _rows(weight: Tensor) -> int:
    """How many tokens a chunk of scores has, by the output embedding (V, D)."""
    return max(chunk_elements(CHUNK_ELEMENTS, weight.device) // weight.shape[0], weight.shape[1])


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
    return batch.by_tensor(lambda tensor: torch.cat([tensor, tensor]))


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
    rows = _rows(weight)
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
