"""Which keys each query may see. Everywhere True = visible."""

import torch
from torch import Tensor


def padding_mask(lengths: Tensor, width: int) -> Tensor:
    """Places before each sequence's end. (B,) -> (B, width) bool."""
    return torch.arange(width, device=lengths.device) < lengths.unsqueeze(1)


def causal_mask(num_queries: int, num_keys: int, device: torch.device | None = None) -> Tensor:
    """Keys that are not in the query's future; the last query sees the last key. -> (T, S) bool."""
    rows = torch.arange(num_queries, device=device).unsqueeze(1) + (num_keys - num_queries)
    return torch.arange(num_keys, device=device) <= rows


def visible(
    mask: Tensor | None, *, causal: bool, num_queries: int, num_keys: int, device: torch.device
) -> Tensor | None:
    """Padding and causality as one mask, broadcastable to (B, H, T, S); ``None`` if all is visible."""
    combined = None if mask is None else mask[:, None, None, :]  # (B, 1, 1, S)
    if causal and num_queries > 1:
        future = causal_mask(num_queries, num_keys, device)
        combined = future if combined is None else combined & future
    return combined


def check_mask(mask: Tensor | None, states: Tensor) -> None:
    """Raise ``ValueError`` unless ``mask`` is bool (B, S) for ``states`` (B, S, ...)."""
    if mask is None:
        return
    if mask.dtype != torch.bool:
        raise ValueError(f"mask: expected dtype torch.bool (True = visible), got {mask.dtype}")
    if mask.shape != states.shape[:2]:
        raise ValueError(f"mask: expected shape {tuple(states.shape[:2])}, got {tuple(mask.shape)}")
