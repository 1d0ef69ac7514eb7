"""Linear layers of fewer bits on the CPU: weights are rounded once, inputs in every call.

Embeddings, norms, attention scores and the cells of recurrent backends keep their precision. What is not a
product gains nothing from fewer bits on a CPU, and loses digits. The plain form is ``nn.Linear``.
"""

import warnings
from collections.abc import Callable
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from translate.errors import UserError


@cache
def bfloat16_instructions() -> str | None:
    """The processor's instructions for matrix products in bfloat16: AMX, AVX-512 or ``None``."""
    has = torch.cpu.get_capabilities()
    return "AMX" if has.get("amx_bf16") else "AVX-512" if has.get("avx512_bf16") else None


class Int8Linear(nn.Module):
    """x W^T + b with W in 8 bits, one scale a row, and x in 8 bits, one scale a call.

    Args:
        weight: (out, in) float32.
        bias: (out,) or ``None``.

    Raises:
        UserError: if the layer is not on a CPU, or this torch has no kernels for it.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        if weight.device.type != "cpu":
            raise UserError("int8: it is for the CPU; leave it out, or add --device cpu")
        if torch.backends.quantized.engine == "none" or not hasattr(torch.ops.quantized, "linear_prepack"):
            raise UserError("int8: this torch has no kernels for it")
        self.out_features, self.in_features = weight.shape
        weight = weight.detach().float()
        # 127 steps on both sides, not 128: without VNNI, sums of pairs of products must fit into 16 bits.
        low, high = weight.aminmax(dim=1)  # not abs(): a copy of a large vocabulary's weights
        scales = torch.maximum(high, -low).clamp_min(1e-8).double() / 127
        zeros = torch.zeros(len(scales), dtype=torch.int64)
        with warnings.catch_warnings(action="ignore"):  # torch announces that these functions will move
            rounded = torch.quantize_per_channel(weight, scales, zeros, 0, torch.qint8)
        self.packed = torch.ops.quantized.linear_prepack(
            rounded, None if bias is None else bias.detach().float()
        )

    def forward(self, states: Tensor) -> Tensor:
        return torch.ops.quantized.linear_dynamic(states, self.packed, reduce_range=True)


class Bfloat16Linear(nn.Module):
    """x W^T + b with W and x in bfloat16, summed in float32 and rounded once.

    Args:
        weight: (out, in).
        bias: (out,) or ``None``.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self.out_features, self.in_features = weight.shape
        self.weight = nn.Parameter(weight.detach().bfloat16(), requires_grad=False)
        self.bias = None if bias is None else nn.Parameter(bias.detach().bfloat16(), requires_grad=False)

    def forward(self, states: Tensor) -> Tensor:
        return F.linear(states.bfloat16(), self.weight, self.bias).to(states.dtype)


def replace_linear(model: nn.Module, new: Callable[[Tensor, Tensor | None], nn.Module]) -> None:
    """Put a layer made of weight and bias in place of every linear layer within a model."""
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if type(child) is nn.Linear:
                setattr(module, name, new(child.weight, child.bias))
