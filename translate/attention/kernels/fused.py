"""Attention by dot products: one signature that hides the kernel that runs.

``auto`` picks the fastest exact kernel; ``explicit`` stores the weights; ``math`` is torch's own reference;
``flash``, ``cudnn`` and ``efficient`` are backends of scaled_dot_product_attention.

Shapes: B batch, H heads, T queries, S keys, E width of a head.
"""

import functools
import threading
import warnings
from collections.abc import Collection
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from translate.attention.functional import masked_softmax
from translate.attention.kernels import SWITCH
from translate.attention.memory import HALF, Pattern
from translate.errors import UserError

BACKENDS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "math": SDPBackend.MATH,
}
KERNELS = ("auto", *BACKENDS, "explicit")
# Of which torch chooses for ``auto`` on a GPU. cuDNN's would come first on newer ones, and builds a plan for
# every new shape, 15 ms each on an H100: batches of sentences, and the steps of a search, differ in shape.
ON_A_GPU = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
CHOOSING = threading.Lock()  # torch's choice, and which warnings are shown, are those of the whole process
ADDITIVE_KERNELS = ("auto", "chunked", "explicit")
FEW = 160  # scores of a head up to which the explicit path is as quick, in a search on a CPU
SHORT = 512 * 512  # scores of a head up to which it is quicker in training in half precision on a CPU
SHORT_IN_ONEDNN = 200 * 200  # the same in float32, where oneDNN multiplies


def check_kernel(kernel: str, mechanism: str, allowed: Collection[str], why: str) -> str:
    """``kernel`` if a mechanism may ask for it; raises ``ValueError`` with the reason ``why`` if not."""
    known = dict.fromkeys((*KERNELS, *ADDITIVE_KERNELS))
    if kernel not in known:
        raise ValueError(f"kernel: expected one of {', '.join(known)}, got {kernel!r}")
    if kernel not in allowed:
        raise ValueError(f"kernel: {kernel} cannot run {mechanism}: {why}; it has {', '.join(allowed)}")
    return kernel


def fuses(kernel: str, query: Tensor, keys: Tensor) -> bool:
    """Whether ``kernel`` computes a context without the weights of queries (B, T, D) and keys (B, H, S, E).

    Where a search has so few scores that the explicit path is as quick, its weights come for free. Half
    precision stays with the kernels, which sum in float32.
    """
    if kernel == "explicit" or not SWITCH.on:
        return False
    return (
        kernel != "auto"
        or query.device.type != "cpu"
        or query.shape[1] * keys.shape[2] > FEW
        or torch.is_grad_enabled()
        or keys.dtype in HALF
        or torch.is_autocast_enabled("cpu")
    )


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
    if kernel == "auto":
        kernel = _fastest(query, keys, values, pattern, dropout)
    else:
        reason = _refusal(kernel, query, keys, values, pattern)
        if reason is not None:
            raise UserError(f"kernel: {kernel} cannot run here: {reason}")
    if kernel == "explicit":
        return explicit_attention(query, keys, values, pattern, scale, dropout)
    if kernel == "sdpa":
        if query.device.type != "cuda":
            return _sdpa(query, keys, values, pattern, scale, dropout)
        with CHOOSING, sdpa_kernel(ON_A_GPU):
            return _sdpa(query, keys, values, pattern, scale, dropout)
    try:
        # A warning says the same as the error, in more lines.
        with CHOOSING, sdpa_kernel(BACKENDS[kernel]), warnings.catch_warnings(action="ignore"):
            return _sdpa(query, keys, values, pattern, scale, dropout)
    except RuntimeError as error:
        raise UserError(f"kernel: {kernel} cannot run here: {str(error).split(chr(10))[0]}") from error


def explicit_attention(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    pattern: Pattern,
    scale: float | None = None,
    dropout: float = 0.0,
) -> Tensor:
    """The plain form of :func:`fused_attention`, which stores the weights."""
    num_queries, num_keys, device = query.shape[2], keys.shape[2], query.device
    groups = query.shape[1] // keys.shape[1]
    if groups > 1:
        keys, values = keys.repeat_interleave(groups, 1), values.repeat_interleave(groups, 1)
    scores = query @ keys.transpose(-2, -1) * (scale if scale is not None else query.shape[-1] ** -0.5)
    bias = pattern.added(num_queries, num_keys, device)
    scores = scores if bias is None else scores + bias
    weights = masked_softmax(scores, pattern.visible(num_queries, num_keys, device))
    return F.dropout(weights, dropout).to(values.dtype) @ values


def _fastest(query: Tensor, keys: Tensor, values: Tensor, pattern: Pattern, dropout: float) -> str:
    """The kernel that ``auto`` stands for; ``sdpa`` is torch's choice, on a GPU of ``ON_A_GPU``."""
    if not SWITCH.on:
        return "explicit"
    if query.device.type != "cpu":
        return "sdpa"
    # oneDNN multiplies short sequences in half precision; the flash kernel's backward barely uses it.
    num_scores = query.shape[2] * keys.shape[2]
    if keys.dtype in HALF and torch.is_grad_enabled() and num_scores <= SHORT:
        return "explicit"
    # The flash kernel would ask oneDNN for many small products, one by one; "medium" lets oneDNN multiply.
    onednn = torch.get_float32_matmul_precision() == "medium"
    if keys.dtype == torch.float32 and num_scores <= SHORT_IN_ONEDNN and onednn:
        return "explicit"
    # Without the flash kernel torch would run its reference, which copies the tensors that it scales.
    fits = not dropout and _refusal("flash", query, keys, values, pattern) is None
    return "sdpa" if fits else "explicit"


def _refusal(kernel: str, query: Tensor, keys: Tensor, values: Tensor, pattern: Pattern) -> str | None:
    """Why ``kernel`` cannot run on this input; ``None`` if no reason is known before it is tried."""
    on_gpu, width = query.device.type == "cuda", query.shape[-1]
    if kernel in ("math", "explicit"):
        return None
    if kernel != "flash":
        return None if on_gpu else "it needs a GPU"
    if not width == keys.shape[-1] == values.shape[-1]:
        return f"keys and values must be equally wide, got {keys.shape[-1]} and {values.shape[-1]}"
    if not on_gpu:
        table = None if pattern.bias is None else pattern.bias(torch.zeros(1, dtype=torch.int64))
        learned = table is not None and table.requires_grad and torch.is_grad_enabled()
        return "it has no gradient for a learned bias" if learned else None
    if query.dtype not in HALF:
        return f"it needs float16 or bfloat16 on a GPU, got {query.dtype}"
    others = (pattern.mask, pattern.window, pattern.bias, pattern.extra)
    if any(part is not None for part in others):
        return "on a GPU it takes neither padding nor window nor bias"
    return None


def _sdpa(
    query: Tensor, keys: Tensor, values: Tensor, pattern: Pattern, scale: float | None, dropout: float
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


@functools.cache
def _failure(kernel: str, device: torch.device, dtype: torch.dtype) -> str:
    """Why a kernel failed forward or backward on a small input; empty if it ran."""
    try:
        with torch.enable_grad(), torch.autocast(device.type, enabled=False):
            query = torch.randn(2, 2, 16, 64, device=device, dtype=dtype, requires_grad=True)
            fused_attention(query, query, query, kernel=kernel).sum().backward()
    except Exception as error:  # a driver may raise anything
        line = (str(error).strip() or type(error).__name__).split("\n")[0]
        return line.removeprefix(f"kernel: {kernel} cannot run here: ")
    return ""


def kernels(device: torch.device) -> dict[str, str]:
    """Why each kernel does not run on a device, forward and backward on a small input; empty if it runs.

    They are those of dot products, and of additive scores.
    """
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    return {name: _failure(name, device, dtype) for name in KERNELS[1:]} | {"chunked": ""}
