"""Linear layers of models that only translate: their weights lie as products of a CPU read them.

By columns, MKL's product x W^T with the few rows of a search reads W faster: it takes 0.7 times as long for
10 rows, 0.98 for 320 (matrices of width 256). Packed, W has oneDNN's own layout, and the bias and a rectifier
are computed within the product: 0.85 to 0.95 times as long.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from translate.attention.kernels import onednn_multiplies
from translate.attention.memory import by_columns

if TYPE_CHECKING:
    from translate.models.seq2seq import Seq2Seq

PACKING = ("_linear_pointwise", "_reorder_linear_weight", "_is_mkldnn_bf16_supported")  # in torch.ops.mkldnn


class CopiedLinear(nn.Module):
    """x W^T + b with copies of W and b that are no part of the model's state.

    What is pickled of it has its weights by columns, until it is packed again.

    Args:
        weight: (out, in).
        bias: (out,) or ``None``.
    """

    bias: Tensor | None
    _unpacked: Tensor | None

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self.out_features, self.in_features = weight.shape
        self.register_buffer("_unpacked", weight.detach(), persistent=False)
        self.register_buffer("bias", None if bias is None else bias.detach(), persistent=False)
        self._packed: Tensor | None = None

    @property
    def num_parameters(self) -> int:
        """Of the parameters that were copied."""
        return self.in_features * self.out_features + (0 if self.bias is None else self.bias.numel())

    @property
    def weight(self) -> Tensor:
        """W, (out, in), unpacked if need be."""
        found = self._unpacked if self._packed is None else self._packed.to_dense()
        assert found is not None
        return found

    def pack(self) -> None:
        """Lay out W for oneDNN; the layer stays where it is from now on."""
        if self._packed is None:
            self._packed = torch.ops.mkldnn._reorder_linear_weight(self.weight.contiguous())
            self._unpacked = None

    def forward(self, states: Tensor) -> Tensor:
        return self._product(states, "none")

    def rectified(self, states: Tensor) -> Tensor:
        """relu(x W^T + b)."""
        return self._product(states, "relu")

    def _product(self, states: Tensor, then: str) -> Tensor:
        if self._packed is None or (states.requires_grad and torch.is_grad_enabled()):
            found = F.linear(states, self.weight, self.bias)
            return found if then == "none" else F.relu(found)
        found = torch.ops.mkldnn._linear_pointwise(states, self._packed, self.bias, then, [], "")
        return found

    def __getstate__(self) -> dict[str, Any]:
        buffers = {**self._buffers, "_unpacked": by_columns(self.weight)}
        return {**self.__dict__, "_buffers": buffers, "_packed": None}


def store_by_columns(model: "Seq2Seq") -> None:
    """Store the weights of every linear layer by columns, and copy those of the projection to the vocabulary.

    An embedding that shares the latter is read row by row. For models on a CPU that are not trained further.
    """
    for module in model.modules():
        if type(module) is nn.Linear:
            module.weight.data = by_columns(module.weight.data)
    model.output_layer = CopiedLinear(by_columns(model.output_weight), model.output_bias)


def can_pack() -> bool:
    """Whether this torch has oneDNN's linear layer and its layout of weights."""
    return torch.backends.mkldnn.is_available() and all(hasattr(torch.ops.mkldnn, each) for each in PACKING)


def pack(model: nn.Module) -> None:
    """Pack the weights of a model on a CPU that oneDNN multiplies: of bfloat16, and of float32 if it does."""
    if not can_pack():
        return
    kinds = {torch.bfloat16} if torch.ops.mkldnn._is_mkldnn_bf16_supported() else set()
    if onednn_multiplies():
        kinds.add(torch.float32)
        replace_linear(model, CopiedLinear)
    for module in model.modules():
        if isinstance(module, CopiedLinear) and module.weight.dtype in kinds:
            module.pack()


def replace_linear(model: nn.Module, new: Callable[[Tensor, Tensor | None], nn.Module]) -> None:
    """Put a layer made of weight and bias in place of every linear layer within a model."""
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if type(child) is nn.Linear:
                setattr(module, name, new(child.weight, child.bias))
