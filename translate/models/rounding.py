"""Linear layers of fewer bits on the CPU: weights are rounded once, inputs in every call.

Embeddings, norms, attention scores and the cells of recurrent backends keep their precision. What is not a
product gains nothing from fewer bits on a CPU, and loses digits.
"""

import warnings
from collections.abc import Callable

import torch
from torch import Tensor, nn

from translate.errors import UserError
from translate.models.packing import CopiedLinear, replace_linear
from translate.models.seq2seq import Seq2Seq


class Int8Linear(nn.Module):
    """x W^T + b with W in 8 bits, one scale a row, and x in 8 bits, one scale a call.

    Args:
        weight: (out, in) float32.
        bias: (out,) or ``None``.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self.out_features, self.in_features = weight.shape
        weight = weight.detach().float()
        # 127 steps on both sides, not 128: without VNNI, sums of pairs of products must fit into 16 bits.
        scales = weight.abs().amax(1).clamp_min(1e-8).double() / 127
        zeros = torch.zeros(len(scales), dtype=torch.int64)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch announces that these functions will move
            rounded = torch.quantize_per_channel(weight, scales, zeros, 0, torch.qint8)
        self.packed = torch.ops.quantized.linear_prepack(
            rounded, None if bias is None else bias.detach().float()
        )

    def forward(self, states: Tensor) -> Tensor:
        found: Tensor = torch.ops.quantized.linear_dynamic(states, self.packed, reduce_range=True)
        return found


class Bfloat16Linear(CopiedLinear):
    """x W^T + b with W and x in bfloat16, summed in float32 and rounded once.

    Args:
        weight: (out, in).
        bias: (out,) or ``None``.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__(weight.bfloat16(), None if bias is None else bias.bfloat16())

    def _product(self, states: Tensor, then: str) -> Tensor:
        return super()._product(states.bfloat16(), then).to(states.dtype)


def round_to_int8(model: Seq2Seq) -> None:
    """Replace every linear layer, and the projection to the vocabulary, by :class:`Int8Linear`.

    Raises:
        UserError: if the model is not on a CPU, or this torch has no kernels for it.
    """
    if model.output_weight.device.type != "cpu":
        raise UserError("int8: it is for the CPU; leave it out, or add --device cpu")
    if "fbgemm" not in torch.backends.quantized.supported_engines:
        raise UserError("int8: this torch has no kernels for it (fbgemm)")
    _replace(model, Int8Linear)


def round_to_bfloat16(model: Seq2Seq) -> None:
    """Replace every linear layer, and the projection to the vocabulary, by :class:`Bfloat16Linear`."""
    _replace(model, Bfloat16Linear)


def _replace(model: Seq2Seq, new: Callable[[Tensor, Tensor | None], nn.Module]) -> None:
    replace_linear(model, new)
    model.output_layer = new(model.output_weight, model.output_bias)
