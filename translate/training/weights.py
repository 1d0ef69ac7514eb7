"""The weights of a model: by name, compared with those of another, and averaged over the steps."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn


def model_tensors(model: nn.Module) -> dict[str, Tensor]:
    """The tensors that a checkpoint stores: parameters, shared ones once, and persistent buffers."""
    parameters = dict(model.named_parameters())
    every_name = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    buffers = {name: tensor for name, tensor in model.state_dict().items() if name not in every_name}
    return {name: tensor.detach() for name, tensor in (parameters | buffers).items()}


def differing_shapes(own: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """One phrase for each tensor, or another value with a shape, that is new, gone or not as in ``other``."""
    found = []
    for name in {**other, **own}:
        then, now = other.get(name), own.get(name)
        if then is None or now is None:
            found.append(f"{name} is {'new' if then is None else 'gone'}")
        elif then.shape != now.shape:
            found.append(f"{name} was {tuple(then.shape)}, now {tuple(now.shape)}")
    return found


def is_finite(tensor: Tensor) -> bool:
    """Whether a tensor holds neither NaN nor an infinite number."""
    # A finite sum has finite terms, and summing takes one pass and no memory; finite terms may overflow.
    return bool(torch.isfinite(tensor.sum()) or torch.isfinite(tensor).all())


class MovingAverage:
    """An exponential moving average of a model's weights (Polyak and Juditsky 1992).

    The decay grows from 0 to ``decay`` as ``(1 + step) / (10 + step)``, so that early averages keep up.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.parameters = list(model.parameters())
        self.weights = [parameter.detach().clone() for parameter in self.parameters]

    def update(self, step: int) -> None:
        """Move towards the weights after step number ``step``."""
        decay = min(self.decay, (1 + step) / (10 + step))
        get_ema_multi_avg_fn(decay)(self.weights, self.parameters, None)

    def named_weights(self, model: nn.Module) -> dict[str, Tensor]:
        """The average under the parameter names of ``model``, the model that it averages."""
        return {
            name: weight for (name, _), weight in zip(model.named_parameters(), self.weights, strict=True)
        }

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Give the model the averaged weights inside this context."""
        raw = [parameter.detach().clone() for parameter in self.parameters]
        self._write(self.weights)
        try:
            yield
        finally:
            self._write(raw)

    def _write(self, weights: Sequence[Tensor]) -> None:
        with torch.no_grad():
            for parameter, weight in zip(self.parameters, weights, strict=True):
                parameter.copy_(weight)
