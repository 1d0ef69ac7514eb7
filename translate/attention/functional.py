"""The score functions of the literature, each one equation of one paper, and the masked softmax.

Shapes: B batch, S source, T target, H heads, E width of a head, A width of the attention layer.
"""

import math

import torch
from torch import Tensor


def masked_softmax(scores: Tensor, visible: Tensor | None) -> Tensor:
    """Normalise over the last dimension among visible places.

    A row in which nothing is visible gives zeros, with finite gradients, instead of NaN.

    Args:
        scores: (..., T, S).
        visible: broadcastable to ``scores``, bool, True = visible; ``None`` if all are.

    Returns:
        Weights (..., T, S); rows sum to 1, or to 0 where nothing is visible.
    """
    if visible is None:
        return torch.softmax(scores, dim=-1)
    lowest = torch.finfo(scores.dtype).min  # finite: -inf would make an all-hidden row NaN
    weights = torch.softmax(scores.masked_fill(~visible, lowest), dim=-1)
    return weights.masked_fill(~visible, 0.0)


def additive_scores(query: Tensor, keys: Tensor, direction: Tensor) -> Tensor:
    """v^T tanh(W q + U k): Bahdanau et al. 2015, A.1.2; q and k come projected.

    Args:
        query: W q, (B, T, A).
        keys: U k, (B, S, A).
        direction: v, (A,).

    Returns:
        Scores (B, T, S).
    """
    return torch.tanh(query.unsqueeze(2) + keys.unsqueeze(1)) @ direction


def dot_scores(query: Tensor, keys: Tensor) -> Tensor:
    """q^T k: Luong et al. 2015, eq. 8, dot (or general). (B, T, E), (B, S, E) -> (B, T, S)."""
    return query @ keys.transpose(-2, -1)


def scaled_dot_scores(query: Tensor, keys: Tensor) -> Tensor:
    """q^T k / sqrt(E): Vaswani et al. 2017, eq. 1. (..., T, E), (..., S, E) -> (..., T, S)."""
    return query @ keys.transpose(-2, -1) * (1.0 / math.sqrt(query.shape[-1]))
