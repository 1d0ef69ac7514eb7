"""Which kernel runs: one signature that hides the choice."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from translate.attention.masks import visible


def fused_attention(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    mask: Tensor | None = None,
    causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """softmax(scale q k^T) v without ever writing the weights down (Dao et al. 2022).

    Args:
        query: (B, H, T, E).
        keys: (B, H, S, E).
        values: (B, H, S, E).
        mask: (B, S) bool, True = visible, or ``None``.
        causal: hide the keys in a query's future; the last query sees the last key.
        scale: 1 / sqrt(E) by default.

    Returns:
        Context (B, H, T, E); zeros where a query sees nothing.
    """
    num_queries, num_keys = query.shape[-2], keys.shape[-2]
    if mask is None and (num_queries == num_keys or not causal):
        return F.scaled_dot_product_attention(
            query, keys, values, is_causal=causal and num_queries > 1, scale=scale
        )
    seen = visible(mask, causal=causal, num_queries=num_queries, num_keys=num_keys, device=query.device)
    context = F.scaled_dot_product_attention(query, keys, values, attn_mask=seen, scale=scale)
    if mask is None or seen is None:
        return context
    # Kernels differ in what they give where nothing is visible.
    return context.masked_fill(~seen.any(-1, keepdim=True), 0.0)


class KernelStatus(NamedTuple):
    """Whether a kernel runs on a device, and if not, why."""

    name: str
    runs: bool
    reason: str


_BACKENDS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "math": SDPBackend.MATH,
}


def kernels(device: torch.device) -> list[KernelStatus]:
    """Which scaled-dot-product kernels run here, tried on a small input."""
    found = []
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    query = torch.randn(2, 2, 16, 64, device=device, dtype=dtype)
    for name, backend in _BACKENDS.items():
        if device.type == "cpu" and name in ("cudnn", "efficient"):
            found.append(KernelStatus(name, False, "needs a GPU"))
            continue
        try:
            with sdpa_kernel(backend):
                F.scaled_dot_product_attention(query, query, query)
            found.append(KernelStatus(name, True, ""))
        except RuntimeError as error:
            found.append(KernelStatus(name, False, str(error).split("\n")[0]))
    return [*found, KernelStatus("explicit", True, "")]
