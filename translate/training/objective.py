"""Cross-entropy from hidden states, computed without holding the scores of all tokens at once.

Shapes: N tokens, D width, V vocabulary.
"""

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from translate.attention.memory import HALF

CHUNK_ELEMENTS = 2**22  # scores held at a time: 16 MiB in float32, about the cache of a few cores
TINY = 1e-30  # a probability below which float32 has lost digits, or all


class Loss(NamedTuple):
    """Sums over the tokens, in nats."""

    total: Tensor  # label-smoothed, with a gradient
    likelihood: Tensor  # negative log-likelihood, without one


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
            weight * scale,
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
    rows = max(16, CHUNK_ELEMENTS // vocabulary)
    # On a CPU a pass over the scores takes as long as a tenth of a product: one pass, in place, and in half
    # precision no pass that widens them.
    on_cpu, narrow = hidden.device.type == "cpu", hidden.dtype in HALF
    in_place = on_cpu and gradients is not None and (narrow or hidden.dtype == weight.dtype == precise)
    added = bias.to(hidden.dtype) if bias is not None and in_place else bias
    for start in range(0, hidden.shape[0], rows):
        states, wanted = hidden[start : start + rows], targets[start : start + rows, None]
        scores = _scores(states, cast_weight, added, hidden.dtype if in_place else precise)
        wanted_scores = scores.gather(1, wanted).to(precise)
        if in_place:
            probabilities = torch.softmax(scores, 1, out=scores)
            found = probabilities.gather(1, wanted).to(precise)
            wanted_log = _logarithms(found, wanted, states, cast_weight, added)
        else:
            log_probabilities = torch.log_softmax(scores, dim=1)
            wanted_log = log_probabilities.gather(1, wanted)
            probabilities = log_probabilities if gradients is None else log_probabilities.exp_()
        likelihood -= wanted_log.sum()
        # Sum of log p over the vocabulary = sum of scores - V log Z, and log Z = score - log p at the target.
        normaliser = (wanted_scores - wanted_log).sum()
        score_sum = (states.to(precise) @ weight_sum.to(precise)).sum() + bias_sum * states.shape[0]
        total -= (1 - label_smoothing) * wanted_log.sum() + uniform * (score_sum - vocabulary * normaliser)
        if gradients is None:
            continue
        # scatter_add_ would widen all of a chunk in half precision, and narrow it again.
        numbers = torch.arange(len(states), device=states.device)
        probabilities[numbers, wanted.squeeze(1)] += label_smoothing - 1
        slope = probabilities.to(hidden.dtype)
        torch.mm(slope, cast_weight, out=gradients.hidden[start : start + rows])
        _add_gradients(gradients, slope, probabilities, states)
    if gradients is not None:
        gradients.hidden.sub_((uniform * weight_sum).to(hidden.dtype))
        gradients.weight.sub_(uniform * hidden.sum(0, dtype=weight.dtype))
        if gradients.bias is not None:
            gradients.bias.sub_(uniform * hidden.shape[0])
    return total, likelihood


def _add_gradients(gradients: _Gradients, slope: Tensor, exact: Tensor, states: Tensor) -> None:
    """Add those of weight and bias, by the slopes (N, V) of a chunk's scores and the same before a cast."""
    if slope.dtype == gradients.weight.dtype:
        gradients.weight.addmm_(slope.t(), states)
    else:  # a product in half precision, summed over the chunks in the weight's
        gradients.weight.add_(slope.t() @ states)
    if gradients.bias is not None:
        gradients.bias.add_(exact.sum(0))


def _scores(states: Tensor, weight: Tensor, bias: Tensor | None, precision: torch.dtype) -> Tensor:
    """(N, V) in ``precision``; of half precision the bias is a part of the product."""
    if precision in HALF:
        return F.linear(states, weight, bias)
    scores = F.linear(states, weight).to(precision)
    return scores if bias is None else scores.add_(bias)


def _logarithms(
    probabilities: Tensor, wanted: Tensor, states: Tensor, weight: Tensor, bias: Tensor | None
) -> Tensor:
    """The logarithms of (N, 1) probabilities of ``wanted`` tokens, from the scores where they are tiny."""
    logarithms = probabilities.log()
    tiny = (probabilities < TINY).squeeze(1)
    if tiny.any():
        scores = F.linear(states[tiny], weight, bias).to(logarithms.dtype)
        logarithms[tiny] = torch.log_softmax(scores, dim=1).gather(1, wanted[tiny])
    return logarithms
