"""The additive score without (B, T, S, A) in memory: the backward pass computes it again.

On a CPU tanh takes three times as long as the logistic function, and tanh(x) = 2 sigmoid(2 x) - 1. So with
z = sigmoid(2 q + 2 k) the score is 2 v^T z - sum(v), and the slope 1 - tanh^2 is 4 z (1 - z).

Shapes: B batch, T queries, S keys, A width of the attention layer.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from translate.attention.functional import additive_scores
from translate.attention.kernels import SWITCH, chunk_elements

CHUNK_ELEMENTS = 2**19  # at a time on a CPU: 2 MiB in float32, which fit into caches


class Chunk(NamedTuple):
    """A part of the batch and of the queries."""

    sentences: slice
    queries: slice


def chunks(query: Tensor, keys: Tensor) -> Iterator[Chunk]:
    """Parts as large as suits the device: whole sentences where several fit, else rows, at least one."""
    batch, num_queries = query.shape[:2]
    elements = chunk_elements(CHUNK_ELEMENTS, keys.device)
    rows = max(1, elements // max(1, keys.shape[1] * keys.shape[2]))
    sentences = max(1, rows // max(1, num_queries))
    queries = num_queries if sentences > 1 else min(rows, num_queries)
    for first in range(0, batch, sentences):
        for start in range(0, num_queries, max(1, queries)):
            yield Chunk(slice(first, first + sentences), slice(start, start + queries))


def fast_additive_scores(query: Tensor, keys: Tensor, direction: Tensor, *, kernel: str = "auto") -> Tensor:
    """v^T tanh(W q + U k) by ``kernel``: ``chunked``, which ``auto`` takes, or ``explicit``.

    Args:
        query: W q, (B, T, A).
        keys: U k, (B, S, A).
        direction: v, (A,).
        kernel: see above.

    Returns:
        Scores (B, T, S).
    """
    if kernel == "explicit" or not SWITCH.on:
        return additive_scores(query, keys, direction)
    return _ChunkedScores.apply(query, keys, direction.to(keys.dtype))


class _ChunkedScores(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, keys: Tensor, direction: Tensor) -> Tensor:
        query, keys = 2 * query, 2 * keys
        ctx.save_for_backward(query, keys, direction)
        return chunked_scores(query, keys, direction)

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        query, keys, direction = ctx.saved_tensors
        of_query, of_keys = torch.empty_like(query), torch.zeros_like(keys)
        of_direction, slope = torch.zeros_like(direction), 4 * direction
        scores_backward(query, keys, outer[0].contiguous(), of_query, of_keys, of_direction)
        return of_query.mul_(slope), of_keys.mul_(slope), of_direction


def chunked_scores(query: Tensor, keys: Tensor, direction: Tensor) -> Tensor:
    """Scores (B, T, S) from 2 q (B, T, A) and 2 k (B, S, A)."""
    scores = keys.new_empty(query.shape[0], query.shape[1], keys.shape[1])
    for part in chunks(query, keys):
        scores[part] = _logistic(query, keys, part) @ direction
    return scores.mul_(2).sub_(direction.sum())


def scores_backward(
    query: Tensor, keys: Tensor, of_scores: Tensor, of_query: Tensor, of_keys: Tensor, of_direction: Tensor
) -> None:
    """The gradient of :func:`chunked_scores` for g = ``of_scores``, (B, T, S).

    Args:
        query: 2 q, (B, T, A).
        keys: 2 k, (B, S, A).
        of_scores: g.
        of_query: receives sum_s g z (1 - z), (B, T, A), which is to be multiplied by 4 v.
        of_keys: sum_t g z (1 - z) is added to it, (B, S, A); the same.
        of_direction: sum g (2 z - 1) is added to it, (A,).
    """
    for part in chunks(query, keys):
        slope = of_scores[part]
        logistic = _logistic(query, keys, part)  # (b, t, S, A)
        of_direction.add_(slope.reshape(-1) @ logistic.flatten(0, 2), alpha=2)
        rising = torch.addcmul(logistic, logistic, logistic, value=-1).mul_(slope.unsqueeze(-1))
        torch.sum(rising, 2, out=of_query[part])
        # The sum over one query would be a copy.
        of_keys[part.sentences].add_(rising.sum(1) if rising.shape[1] > 1 else rising.squeeze(1))
    of_direction.sub_(of_scores.sum())


def _logistic(query: Tensor, keys: Tensor, part: Chunk) -> Tensor:
    return (query[part].unsqueeze(2) + keys[part.sentences].unsqueeze(1)).sigmoid_()
