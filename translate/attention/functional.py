"""The score functions of the literature, one equation of one paper each, and the masked softmax.

Shapes: B batch, S source, T target, H heads, E width of a head, A width of the attention layer.
"""

import torch
import torch.nn.functional as F
from torch import Tensor


def masked_softmax(scores: Tensor, visible: Tensor | None) -> Tensor:
    """Normalise over the visible keys, in the last dimension.

    A row in which nothing is visible gives zeros, with finite gradients, instead of NaN.

    Args:
        scores: (..., T, S).
        visible: broadcastable to ``scores``, bool, True = visible; ``None`` if all are.

    Returns:
        Weights (..., T, S); rows sum to 1, or to 0 where nothing is visible.
    """
    if visible is None:
        return torch.softmax(scores, dim=-1)
    hidden, lowest = ~visible, torch.finfo(scores.dtype).min  # finite: -inf would make an all-hidden row NaN
    return torch.softmax(scores.masked_fill(hidden, lowest), dim=-1).masked_fill(hidden, 0.0)


def normalise(scores: Tensor, visible: Tensor | None) -> Tensor:
    """Divide scores, none negative, by their sum over the visible keys; zeros where nothing is visible."""
    if visible is not None:
        scores = scores.masked_fill(~visible, 0.0)
    total = scores.sum(-1, keepdim=True)
    return scores / torch.where(total > 0, total, 1.0)


def additive_scores(query: Tensor, keys: Tensor, direction: Tensor) -> Tensor:
    """v^T tanh(W q + U k): Bahdanau et al. 2015, A.1.2; q and k come projected.

    Holds (B, T, S, A); :mod:`translate.attention.kernels.additive` computes the same without it.

    Args:
        query: W q, (B, T, A).
        keys: U k, (B, S, A), or (B, T, S, A) if they differ from query to query.
        direction: v, (A,).

    Returns:
        Scores (B, T, S).
    """
    keys = keys.unsqueeze(1) if keys.dim() == 3 else keys
    return torch.tanh(query.unsqueeze(2) + keys) @ direction.to(keys.dtype)


def dot_scores(query: Tensor, keys: Tensor) -> Tensor:
    """q^T k: Luong et al. 2015, eq. 8: dot, or with projected keys general.

    (..., T, E), (..., S, E) -> (..., T, S).
    """
    return query.to(keys.dtype) @ keys.transpose(-2, -1)


def elu_features(states: Tensor) -> Tensor:
    """elu(x) + 1, the positive features of Katharopoulos et al. 2020, eq. 7. (..., E) -> (..., E)."""
    return F.elu(states) + 1


def dpfp_features(states: Tensor) -> Tensor:
    """Products of neighbours of [relu(x); relu(-x)], summing to 1: Schlag et al. 2021, 5.3 and 4.2, nu = 1.

    Args:
        states: (..., E).

    Returns:
        (..., 2 E), not negative; they sum to 1, or to 0 where every product vanishes.
    """
    halves = torch.cat([F.relu(states), F.relu(-states)], dim=-1)
    products = halves * halves.roll(1, dims=-1)
    return products / products.sum(-1, keepdim=True).clamp_min(1e-6)
