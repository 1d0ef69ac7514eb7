"""The kernels by name, why one cannot run on an input, and the two that run on a GPU alone.

``auto`` picks the fastest exact one; ``explicit`` stores the weights; ``math`` is torch's own reference.
``flash``, ``cudnn`` and ``efficient`` are backends of scaled_dot_product_attention, ``varlen`` runs over
packed tokens without padding, ``flex`` is FlexAttention.

Shapes: B batch, H heads, T queries, S keys, E width of a head, P real tokens of a padded batch.
"""

import functools
import shutil
from collections.abc import Collection
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from translate.attention.masks import Pattern
from translate.attention.memory import HALF

KERNELS = ("auto", "flash", "cudnn", "efficient", "flex", "varlen", "math", "explicit")
ADDITIVE_KERNELS = ("auto", "chunked", "compiled", "explicit")
MAX_HEAD_SIZE = 256  # of flash kernels on a GPU
COMPILERS = ("c++", "g++", "clang++")


class KernelStatus(NamedTuple):
    """Whether a kernel runs on a device, and why not."""

    name: str
    runs: bool
    reason: str


def check_kernel(kernel: str, mechanism: str, allowed: Collection[str], why: str) -> str:
    """``kernel`` if a mechanism may ask for it; raises ``ValueError`` with the reason ``why`` if not."""
    known = dict.fromkeys((*KERNELS, *ADDITIVE_KERNELS))
    if kernel not in known:
        raise ValueError(f"kernel: expected one of {', '.join(known)}, got {kernel!r}")
    if kernel not in allowed:
        raise ValueError(f"kernel: {kernel} cannot run {mechanism}: {why}; it has {', '.join(allowed)}")
    return kernel


def compiler() -> str | None:
    """The C++ compiler that torch.compile would find, or ``None``."""
    return next((path for name in COMPILERS if (path := shutil.which(name))), None)


def onednn_multiplies() -> bool:
    """Whether a CPU's products in float32 are oneDNN's and not MKL's; commands choose that at their start."""
    return torch.get_float32_matmul_precision() == "medium"


def refusal(kernel: str, query: Tensor, keys: Tensor, values: Tensor, pattern: Pattern) -> str | None:
    """Why ``kernel`` cannot run on this input; ``None`` if no reason is known before it is tried."""
    on_gpu = query.device.type == "cuda"
    if kernel in ("math", "explicit"):
        return None
    if kernel != "flash" and not on_gpu:
        return "FlexAttention has no backward on a CPU" if kernel == "flex" else "it needs a GPU"
    if kernel in ("flex", "varlen") and pattern.positions is not None:
        return "the positions of the queries differ from hypothesis to hypothesis"
    if kernel in ("flex", "varlen") and pattern.extra is not None:
        return "hypotheses of a sentence see different keys"
    if kernel in ("flash", "varlen"):
        return _refusal_of_flash(query, keys, values) or (
            _unseen_by_varlen(query, keys, pattern)
            if kernel == "varlen"
            else _unseen_by_flash(query, pattern)
        )
    return None


def _refusal_of_flash(query: Tensor, keys: Tensor, values: Tensor) -> str | None:
    on_gpu, width = query.device.type == "cuda", query.shape[-1]
    if not width == keys.shape[-1] == values.shape[-1]:
        return f"keys and values must be equally wide, got {keys.shape[-1]} and {values.shape[-1]}"
    if on_gpu and query.dtype not in HALF:
        return f"it needs float16 or bfloat16 on a GPU, got {query.dtype}"
    if on_gpu and width > MAX_HEAD_SIZE:
        return f"a head may be {MAX_HEAD_SIZE} wide at most, got {width}"
    return None


def _unseen_by_flash(query: Tensor, pattern: Pattern) -> str | None:
    if query.device.type == "cuda":
        others = (pattern.mask, pattern.window, pattern.bias, pattern.extra)
        if any(part is not None for part in others):
            return "on a GPU it takes neither padding nor window nor bias; use varlen or flex"
        return None
    table = pattern.by_distance(1, 1, query.device)
    if table is not None and table.requires_grad and torch.is_grad_enabled():
        return "it has no gradient for a learned bias"
    return None


def _unseen_by_varlen(query: Tensor, keys: Tensor, pattern: Pattern) -> str | None:
    if varlen_attention() is None:
        return f"torch {torch.__version__} has no torch.nn.attention.varlen"
    if pattern.bias is not None:
        return "it takes no bias; use flex"
    bounded = pattern.window is not None or pattern.causal
    if bounded and pattern.mask is not None:
        return "it takes padding, or a window or causality, not both; use flex"
    if bounded and pattern.start != keys.shape[2] - query.shape[2]:
        return "the last query must stand at the last key"
    return None


@functools.cache
def varlen_attention() -> "object | None":
    """torch's attention over packed tokens, where this torch has it."""
    try:
        from torch.nn.attention.varlen import varlen_attn
    except ImportError:
        return None
    return varlen_attn


def varlen_packed(
    query: Tensor, keys: Tensor, values: Tensor, pattern: Pattern, scale: float | None
) -> Tensor:
    """Attention over packed tokens, so that padding costs nothing."""
    attend: Any = varlen_attention()
    batch, num_queries, num_keys = query.shape[0], query.shape[2], keys.shape[2]
    # A GPU synchronises here.
    real = None if pattern.mask is None else pattern.mask.flatten().nonzero().squeeze(1)
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
    """(B, H, L, E) to its real tokens (P, H, E), and the end of each sequence, (B + 1,) int32 from 0."""
    batch, _, length, _ = states.shape
    flat = states.transpose(1, 2).flatten(0, 1)
    if mask is None or real is None:
        return flat, torch.arange(0, (batch + 1) * length, length, device=states.device, dtype=torch.int32)
    return flat[real], F.pad(mask.sum(1).cumsum(0), (1, 0)).to(torch.int32)


def flex(query: Tensor, keys: Tensor, values: Tensor, pattern: Pattern, scale: float | None) -> Tensor:
    """FlexAttention: it skips blocks without a visible key, and holds no (T, S) mask or bias."""
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
