"""Which kernels there are, and why one cannot run for a mechanism, a mask, a dtype or a device.

``auto`` picks the fastest exact one; ``explicit`` writes the weights down; ``math`` is torch's own
reference. ``flash``, ``cudnn`` and ``efficient`` are backends of scaled_dot_product_attention, ``varlen``
runs over packed tokens without padding, ``flex`` is FlexAttention.
"""

import functools
import shutil
from collections.abc import Collection
from typing import NamedTuple

import torch
from torch import Tensor

from translate.attention.masks import Pattern
from translate.attention.memory import HALF

KERNELS = ("auto", "flash", "cudnn", "efficient", "flex", "varlen", "math", "explicit")
ADDITIVE_KERNELS = ("auto", "chunked", "compiled", "explicit")
MAX_HEAD_SIZE = 256  # of flash kernels on a GPU
COMPILERS = ("c++", "g++", "clang++")


class KernelStatus(NamedTuple):
    """Whether a kernel runs on a device, and if not, why."""

    name: str
    runs: bool
    reason: str


def check_kernel(kernel: str, mechanism: str, allowed: Collection[str], why: str) -> str:
    """``kernel`` if a mechanism may ask for it; else raises ``ValueError``, saying ``why`` not."""
    known = dict.fromkeys((*KERNELS, *ADDITIVE_KERNELS))
    if kernel not in known:
        raise ValueError(f"kernel: expected one of {', '.join(known)}, got {kernel!r}")
    if kernel not in allowed:
        raise ValueError(f"kernel: {kernel} cannot run {mechanism}: {why}; it has {', '.join(allowed)}")
    return kernel


def compiler() -> str | None:
    """The C++ compiler that torch.compile would find, or ``None``."""
    return next((path for name in COMPILERS if (path := shutil.which(name))), None)


def refusal(kernel: str, query: Tensor, keys: Tensor, values: Tensor, pattern: Pattern) -> str | None:
    """Why ``kernel`` cannot run on this input, as far as that is known before it is tried."""
    on_gpu = query.device.type == "cuda"
    if kernel in ("math", "explicit"):
        return None
    if kernel != "flash" and not on_gpu:
        return "FlexAttention has no backward on a CPU" if kernel == "flex" else "it needs a GPU"
    if kernel in ("flex", "varlen") and pattern.places is not None:
        return "the places of the queries differ from hypothesis to hypothesis"
    if kernel in ("flex", "varlen") and pattern.extra is not None:
        return "each hypothesis sees the path of its own"
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
        if any(each is not None for each in others):
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
