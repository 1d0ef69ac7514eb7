"""Dropout with cheap random numbers on the CPU; the plain form is torch's own."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from translate.attention.kernels import SWITCH


class Dropout(nn.Module):
    """Zero each element with probability ``p`` in training, and scale the others (Srivastava et al. 2014).

    On the CPU one random byte decides an element, so ``p`` is rounded to a multiple of 1/256, from 1/256 to
    255/256. Torch's own kernel draws a double for every element, up to a fifth of a training step there.
    """

    def __init__(self, p: float = 0.1) -> None:
        super().__init__()
        if not 0.0 <= p < 1.0:
            raise ValueError(f"dropout: expected a probability in [0, 1), got {p}")
        self.p = p

    def forward(self, states: Tensor) -> Tensor:
        if not self.training or self.p == 0.0:
            return states
        if states.device.type != "cpu" or not SWITCH.on:
            return F.dropout(states, self.p)
        return _ByteDropout.apply(states, min(255, max(1, round(256 * self.p))))


class _ByteDropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, states: Tensor, threshold: int) -> Tensor:
        count = states.numel()
        words = torch.empty((count + 7) // 8, dtype=torch.int64).random_(-(2**63), None)
        drawn = words.view(torch.uint8)[:count]
        ctx.scale = 256 / (256 - threshold)
        # Numbers in the first place, 0 and 1: a product takes a fraction of the time of a choice.
        kept = torch.ge(drawn, threshold, out=torch.empty(count, dtype=states.dtype)).view(states.shape)
        ctx.save_for_backward(kept)
        return (states * kept).mul_(ctx.scale)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (kept,) = ctx.saved_tensors
        return (gradients[0] * kept).mul_(ctx.scale), None
