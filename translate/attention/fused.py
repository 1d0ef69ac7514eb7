"""One signature that hides which kernel runs.

Shapes: B batch, H heads, T queries, S keys, E width of a head.
"""

import functools
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from translate.attention.functional import masked_softmax, weighted_sum
from translate.attention.kernels import (
    KERNELS,
    KernelStatus,
    compiler,
    flex,
    onednn_multiplies,
    refusal,
    varlen_packed,
)
from translate.attention.masks import Pattern
from translate.attention.memory import HALF
from translate.attention.recompute import chunked_additive_scores, compiled_additive_scores
from translate.errors import UserError

BACKENDS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "math": SDPBackend.MATH,
}
FEW = 160  # scores of a head up to which the explicit path is quicker, in a search on a CPU
SHORT = 512 * 512  # scores of a head up to which it is, too, in training in half precision on a CPU
SHORT_IN_ONEDNN = 200 * 200  # the same in float32, where oneDNN multiplies it
LONG = 1024  # keys from which FlexAttention's skipped blocks repay its block mask


def fused_attention(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    pattern: Pattern | None = None,
    *,
    scale: float | None = None,
    kernel: str = "auto",
    dropout: float = 0.0,
) -> Tensor:
    """softmax(scale q k^T + bias) v without storing the weights (Dao et al. 2022).

    Args:
        query: (B, H, T, E).
        keys: (B, H, S, E), or fewer heads that divide H.
        values: (B, H, S, E'), with as many heads as the keys.
        pattern: which keys each query sees; all by default.
        scale: 1 / sqrt(E) by default.
        kernel: one of ``KERNELS``.
        dropout: of the weights; above 0, a GPU takes torch's own choice and a CPU the explicit path.

    Returns:
        Context (B, H, T, E'); zeros where a query sees nothing.

    Raises:
        UserError: with the reason, if ``kernel`` cannot run on this input.
    """
    pattern = pattern or Pattern()
    if dropout:
        run = _sdpa if query.device.type == "cuda" and kernel == "auto" else explicit_attention
        return run(query, keys, values, pattern, scale, dropout)
    if kernel == "auto":
        return _RUN[_fastest(query, keys, values, pattern)](query, keys, values, pattern, scale)
    reason = refusal(kernel, query, keys, values, pattern)
    if reason is not None:
        raise UserError(f"kernel: {kernel} cannot run here: {reason}")
    if kernel not in BACKENDS:
        return _RUN[kernel](query, keys, values, pattern, scale)
    try:
        with sdpa_kernel(BACKENDS[kernel]), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the error says the same in one line
            return _sdpa(query, keys, values, pattern, scale)
    except RuntimeError as error:
        raise UserError(f"kernel: {kernel} cannot run here: {str(error).split(chr(10))[0]}") from error


def few_scores(query: Tensor, keys: Tensor) -> bool:
    """Whether queries (B, T, D) and keys (B, H, S, E) are so few that the explicit path is quicker.

    ``auto`` takes it then. Half precision stays with the kernels, which sum in float32.
    """
    return (
        query.device.type == "cpu"
        and query.shape[1] * keys.shape[2] <= FEW
        and not torch.is_grad_enabled()
        and keys.dtype not in HALF
        and not torch.is_autocast_enabled("cpu")
    )


def _fastest(query: Tensor, keys: Tensor, values: Tensor, pattern: Pattern) -> str:
    """The kernel that ``auto`` stands for."""
    device = query.device.type
    if device == "cpu":
        # oneDNN multiplies short sequences in half precision; the flash kernel's backward barely uses it.
        num_scores = query.shape[2] * keys.shape[2]
        if keys.dtype in HALF and torch.is_grad_enabled() and num_scores <= SHORT:
            return "explicit"
        # The flash kernel would ask oneDNN for many small products, one by one.
        if keys.dtype == torch.float32 and num_scores <= SHORT_IN_ONEDNN and onednn_multiplies():
            return "explicit"
        # Without the flash kernel torch would run its reference, which copies the tensors that it scales.
        return "sdpa" if refusal("flash", query, keys, values, pattern) is None else "explicit"
    if device != "cuda" or query.dtype not in HALF:
        return "sdpa"
    # Packing waits for the GPU, which costs each step of a search more than its padding.
    packs = pattern.mask is not None and query.shape[2] > 1 and torch.is_grad_enabled()
    if packs and _runs("varlen", query, keys, values, pattern):
        return "varlen"
    structured = pattern.window is not None or pattern.bias is not None
    if structured and keys.shape[2] >= LONG and _runs("flex", query, keys, values, pattern):
        return "flex"
    return "sdpa"


def _runs(kernel: str, query: Tensor, keys: Tensor, values: Tensor, pattern: Pattern) -> bool:
    return (
        refusal(kernel, query, keys, values, pattern) is None
        and _tried(kernel, query.device, query.dtype) is None
    )


def _sdpa(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    pattern: Pattern,
    scale: float | None,
    dropout: float = 0.0,
) -> Tensor:
    """torch's own choice among its backends."""
    num_queries, num_keys, device = query.shape[2], keys.shape[2], query.device
    options: dict[str, Any] = {"scale": scale, "dropout_p": dropout}
    if query.shape[1] != keys.shape[1]:
        options["enable_gqa"] = True
    others = (pattern.mask, pattern.window, pattern.bias, pattern.positions, pattern.extra)
    whole = all(part is None for part in others)
    if whole and (not pattern.causal or (pattern.start == 0 and num_queries == num_keys)):
        causal = pattern.causal and num_queries > 1
        return F.scaled_dot_product_attention(query, keys, values, is_causal=causal, **options)
    seen = pattern.visible(num_queries, num_keys, device)
    blank = None
    if seen is not None:
        # Kernels differ in rows where nothing is visible: let such rows see everything, then blank them.
        blank = ~seen.any(-1, keepdim=True)
        seen = seen | blank
    mask = pattern.added(num_queries, num_keys, device)
    if mask is None:
        mask = seen
    else:
        mask = mask.to(query.dtype)
        mask = mask if seen is None else mask.masked_fill(~seen, float("-inf"))
    context = F.scaled_dot_product_attention(query, keys, values, attn_mask=mask, **options)
    return context if blank is None else context.masked_fill(blank, 0.0)


def explicit_attention(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    pattern: Pattern,
    scale: float | None = None,
    dropout: float = 0.0,
) -> Tensor:
    """As :func:`fused_attention`, storing the weights."""
    num_queries, num_keys, device = query.shape[2], keys.shape[2], query.device
    groups = query.shape[1] // keys.shape[1]
    if groups > 1:
        keys, values = keys.repeat_interleave(groups, 1), values.repeat_interleave(groups, 1)
    scores = query @ keys.transpose(-2, -1) * (scale if scale is not None else query.shape[-1] ** -0.5)
    bias = pattern.added(num_queries, num_keys, device)
    scores = scores if bias is None else scores + bias
    weights = masked_softmax(scores, pattern.visible(num_queries, num_keys, device))
    return weighted_sum(F.dropout(weights, dropout).to(values.dtype), values)


_RUN: dict[str, Callable[[Tensor, Tensor, Tensor, Pattern, float | None], Tensor]] = {
    "sdpa": _sdpa,
    "explicit": explicit_attention,
    "varlen": varlen_packed,
    "flex": flex,
}


@functools.cache
def _tried(kernel: str, device: torch.device, dtype: torch.dtype) -> str | None:
    """Why a kernel failed forward or backward on a small input; ``None`` if it ran."""
    try:
        with torch.enable_grad(), torch.autocast(device.type, enabled=False):
            if kernel in ("chunked", "compiled"):
                score = chunked_additive_scores if kernel == "chunked" else compiled_additive_scores
                query = torch.randn(2, 3, 16, device=device, dtype=dtype, requires_grad=True)
                score(query, query, query[0, 0]).sum().backward()
            else:
                query = torch.randn(2, 2, 16, 64, device=device, dtype=dtype, requires_grad=True)
                fused_attention(query, query, query, kernel=kernel).sum().backward()
    except Exception as error:  # a compiler or a driver may raise anything
        lines = str(error).strip().split("\n") or [""]
        return lines[0].removeprefix(f"kernel: {kernel} cannot run here: ") or type(error).__name__
    return None


def kernels(device: torch.device) -> list[KernelStatus]:
    """Which kernels run here; all but compiled ones are tried forward and backward on a small input."""
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    found = []
    for name in (*KERNELS[1:], "chunked"):
        reason = _tried(name, device, dtype)
        found.append(KernelStatus(name, reason is None, reason or ""))
    if device.type == "cpu":
        missing = "" if compiler() else "torch.compile needs a C++ compiler, and none is found"
    else:
        missing = "" if find_spec("triton") else "torch.compile needs Triton, and it is not installed"
    return [*found, KernelStatus("compiled", not missing, missing)]


def additive_kernel(kernel: str, keys: Tensor) -> str:
    """Resolve ``auto``; raises ``UserError`` if ``kernel`` is ``compiled`` and does not run here."""
    if kernel == "auto":
        on_gpu = keys.device.type == "cuda"
        return "compiled" if on_gpu and _tried("compiled", keys.device, keys.dtype) is None else "chunked"
    if kernel == "compiled":
        reason = _tried("compiled", keys.device, keys.dtype)
        if reason is not None:
            raise UserError(f"kernel: compiled cannot run here: {reason}")
    return kernel
