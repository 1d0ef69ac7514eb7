"""Kernels that run on a GPU alone: over packed tokens, and FlexAttention.

Shapes: B batch, H heads, T queries, S keys, E width of a head, P real tokens of a padded batch.
"""

import functools
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from translate.attention.kernels import varlen_attention
from translate.attention.masks import Pattern


def varlen_packed(
    query: Tensor, keys: Tensor, values: Tensor, pattern: Pattern, scale: float | None
) -> Tensor:
    """Over packed tokens, so that padding costs nothing."""
    attend: Any = varlen_attention()
    batch, num_queries, num_keys = query.shape[0], query.shape[2], keys.shape[2]
    real = (
        None if pattern.mask is None else pattern.mask.flatten().nonzero().squeeze(1)
    )  # a GPU synchronises here
    packed_keys, key_ends = _pack(keys, pattern.mask, real)
    packed_values, _ = _pack(values, pattern.mask, real)
    own = pattern.own and real is not None
    packed_query, query_ends = _pack(query, pattern.mask if own else None, real if own else None)
    # The kernel aligns the last query with the last key, as causality here does.
    right = 0 if pattern.causal else pattern.window if pattern.window is not None else -1
    left = pattern.window if pattern.window is not None else -1
    options: dict[str, Any] = {"scale": scale, "window_size": (left, right)}
    if query.shape[1] != keys.shape[1]:
        options["enable_gqa"] = True
    context = attend(
        packed_query, packed_keys, packed_values, query_ends, key_ends, num_queries, num_keys, **options
    )
    if own:
        whole = context.new_zeros(batch * num_queries, *context.shape[1:])
        context = whole.index_copy(0, real, context)
    context = context.unflatten(0, (batch, num_queries)).transpose(1, 2)  # (B, H, T, E)
    if pattern.mask is None:
        return context
    return context.masked_fill(~pattern.mask.any(1)[:, None, None, None], 0.0)


def _pack(states: Tensor, mask: Tensor | None, real: Tensor | None) -> tuple[Tensor, Tensor]:
    """(B, H, L, E) to its real places (P, H, E), and where each sequence ends, (B + 1,) int32 from 0."""
    batch, _, length, _ = states.shape
    flat = states.transpose(1, 2).flatten(0, 1)
    if mask is None or real is None:
        return flat, torch.arange(0, (batch + 1) * length, length, device=states.device, dtype=torch.int32)
    return flat[real], F.pad(mask.sum(1).cumsum(0), (1, 0)).to(torch.int32)


def flex(query: Tensor, keys: Tensor, values: Tensor, pattern: Pattern, scale: float | None) -> Tensor:
    """FlexAttention: blocks of which no key is visible are skipped, and no (T, S) mask or bias is held."""
    attend, block_mask = _flex_functions()
    num_queries, num_keys, device = query.shape[2], keys.shape[2], query.device
    mask, window, causal, start = pattern.mask, pattern.window, pattern.causal, pattern.start
    table = pattern.by_distance(num_queries, num_keys, device)

    def visible(batch: Tensor, head: Tensor, row: Tensor, key: Tensor) -> Tensor:
        seen = key >= 0
        if mask is not None:
            seen = seen & mask[batch, key]
        if causal:
            seen = seen & (key <= row + start)
        if window is not None:
            seen = seen & ((key - row - start).abs() <= window)
        return seen

    def with_bias(score: Tensor, batch: Tensor, head: Tensor, row: Tensor, key: Tensor) -> Tensor:
        return score if table is None else score + table[head, key - row + num_queries - 1]

    context: Tensor = attend(
        query,
        keys,
        values,
        score_mod=with_bias if table is not None else None,
        block_mask=block_mask(
            visible, None if mask is None else len(mask), None, num_queries, num_keys, device=device
        ),
        scale=scale,
        enable_gqa=query.shape[1] != keys.shape[1],
    )
    return context


@functools.cache
def _flex_functions() -> tuple[Any, Any]:
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    return torch.compile(flex_attention, dynamic=True), torch.compile(create_block_mask, dynamic=True)
