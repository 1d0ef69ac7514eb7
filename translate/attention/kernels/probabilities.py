"""The probabilities of a vocabulary, of which a loss takes the gradient.

On a CPU a pass over the scores takes as long as a tenth of their product, so half precision stays half, in
place.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from translate.attention.kernels import SWITCH
from translate.attention.memory import HALF


class Probabilities(NamedTuple):
    """Shapes: N tokens, V vocabulary."""

    all: Tensor  # (N, V), to be written over
    wanted_log: Tensor  # of the wanted tokens, (N, 1)
    normaliser: Tensor  # the logarithm of the sum of exp(scores), (N, 1)


def probabilities(
    hidden: Tensor, weight: Tensor, bias: Tensor | None, wanted: Tensor, *, exact: bool
) -> Probabilities:
    """softmax(hidden weight^T + bias), in float32 or float64.

    Args:
        hidden: (N, D).
        weight: (V, D), in the precision of ``hidden``.
        bias: (V,) or ``None``.
        wanted: (N, 1) int64.
        exact: also where ``hidden`` is in half precision.
    """
    precise = torch.promote_types(hidden.dtype, torch.float32)
    if SWITCH.on and not exact and hidden.device.type == "cpu" and hidden.dtype in HALF:
        scores = F.linear(hidden, weight, None if bias is None else bias.to(hidden.dtype))
        wanted_scores = scores.gather(1, wanted).to(precise)
        largest = scores.amax(1, keepdim=True).to(precise)
        found = torch.softmax(scores, 1, out=scores)
        # From the likeliest token, since the probability of the wanted one may be 0.
        normaliser = largest - found.amax(1, keepdim=True).to(precise).log()
        return Probabilities(found, wanted_scores - normaliser, normaliser)
    scores = F.linear(hidden, weight).to(precise)
    if bias is not None:
        scores += bias
    logarithms = torch.log_softmax(scores, dim=1)
    wanted_log = logarithms.gather(1, wanted)
    return Probabilities(logarithms.exp_(), wanted_log, scores.gather(1, wanted) - wanted_log)
