"""Averages of a model's weights."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class Averaged:
    """An exponential moving average of a model's weights (Polyak and Juditsky 1992).

    The decay grows from 0 to ``decay`` as ``(1 + step) / (10 + step)``, so that early averages follow.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.parameters = list(model.parameters())
        self.weights = [parameter.detach().clone() for parameter in self.parameters]

    def update(self, step: int) -> None:
        """Move towards the weights after step number ``step``."""
        decay = min(self.decay, (1 + step) / (10 + step))
        torch._foreach_lerp_(self.weights, [p.detach() for p in self.parameters], 1 - decay)

    def named_weights(self, model: nn.Module) -> dict[str, Tensor]:
        """The average by the names of the parameters of ``model``, which it is of."""
        return {
            name: weight for (name, _), weight in zip(model.named_parameters(), self.weights, strict=True)
        }

    @contextmanager
    def applied(self) -> Iterator[None]:
        """The model carries the average inside this context."""
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
