"""Tiny models without dropout, and steps on them."""

import torch
from torch import nn

from tests.tiny_models import tiny_model
from translate.attention.kernels.dropout import Dropout
from translate.models import Seq2Seq
from translate.training.losses import LossTerms
from translate.training.update import Update
from translate.training.weights import MovingAverage

LENGTHS = [(3, 5), (2, 1), (7, 11), (4, 4), (5, 2)]  # of source and target
SMOOTHED = LossTerms(label_smoothing=0.1)


def undropped(name: str) -> Seq2Seq:
    model = tiny_model(name)
    for module in model.modules():
        if isinstance(module, Dropout):
            module.p = 0.0
    return model


def updater(
    model: Seq2Seq,
    terms: LossTerms = SMOOTHED,
    *,
    rate: float = 0.3,
    clip_norm: float | None = None,
    average: MovingAverage | None = None,
) -> Update:
    """Plain gradient descent without autocast; the model itself is in float64."""
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    return Update(model, optimizer, terms, clip_norm=clip_norm, average=average)


def weights(model: nn.Module) -> list[torch.Tensor]:
    return [parameter.detach().clone() for parameter in model.parameters()]
