"""Attention over the channels and the places of a feature map: gates that multiply it.

Unlike a mechanism, a gate has no query: the map itself says what of it matters. Weights are sigmoids, so that
they do not compete.

Shapes: B pictures, D channels, R rows, C columns. Places outside a picture are zero, and are never counted.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

REDUCTION = 4  # of the channels, between the two layers of a gate
KERNEL = 7  # rows and columns that a spatial gate sees: Woo et al. 2018, table 2


def masked_mean(grid: Tensor, inside: Tensor) -> Tensor:
    """The mean of each channel over the picture: (B, D, R, C) and (B, 1, R, C) -> (B, D)."""
    return (grid * inside).sum((2, 3)) / inside.sum((2, 3)).clamp_min(1)


def masked_maximum(grid: Tensor, inside: Tensor) -> Tensor:
    """The maximum of each channel over the picture, 0 without one: (B, D, R, C) -> (B, D)."""
    found = grid.masked_fill(~inside, -torch.inf).amax((2, 3))
    return torch.where(inside.any(3).any(2), found, 0.0)


class Gate(nn.Module):
    """``forward(grid, inside)`` gives the gated map; ``channel_weights`` the weights of the channels."""

    def channel_weights(self, grid: Tensor, inside: Tensor) -> Tensor | None:
        """How much of each channel passes, (B, D), or ``None`` if the gate does not weigh channels."""
        raise NotImplementedError

    def forward(self, grid: Tensor, inside: Tensor) -> Tensor:
        """(B, D, R, C) and (B, 1, R, C) bool, True = part of the picture."""
        raise NotImplementedError


class ChannelGate(Gate):
    """s = sigmoid(W2 relu(W1 z)), z the mean of each channel: squeeze and excitation, Hu et al. 2018, 3.

    Args:
        size: D.
        maximum: add the same layers' answer to the maxima, as Woo et al. 2018, eq. 2, do.
    """

    def __init__(self, size: int, *, maximum: bool = False) -> None:
        super().__init__()
        self.maximum = maximum
        self.squeeze = nn.Linear(size, max(1, size // REDUCTION))
        self.excite = nn.Linear(max(1, size // REDUCTION), size)

    def channel_weights(self, grid: Tensor, inside: Tensor) -> Tensor:
        energy = self._energy(masked_mean(grid, inside))
        if self.maximum:
            energy = energy + self._energy(masked_maximum(grid, inside))
        return torch.sigmoid(energy)

    def forward(self, grid: Tensor, inside: Tensor) -> Tensor:
        return grid * self.channel_weights(grid, inside)[:, :, None, None]

    def _energy(self, summary: Tensor) -> Tensor:
        return self.excite(F.relu(self.squeeze(summary)))


class SpatialGate(Gate):
    """sigmoid(f([mean; maximum])) over the channels, f a 7 x 7 convolution: Woo et al. 2018, eq. 3.

    Args:
        size: D, which does not matter.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size
        self.convolution = nn.Conv2d(2, 1, KERNEL, padding=KERNEL // 2)

    def channel_weights(self, grid: Tensor, inside: Tensor) -> None:
        return None

    def place_weights(self, grid: Tensor, inside: Tensor) -> Tensor:
        """How much of each place passes: (B, 1, R, C), zero outside the picture."""
        pooled = torch.cat([grid.mean(1, keepdim=True), grid.amax(1, keepdim=True)], dim=1)
        return torch.sigmoid(self.convolution(pooled * inside)) * inside

    def forward(self, grid: Tensor, inside: Tensor) -> Tensor:
        return grid * self.place_weights(grid, inside)


class CombinedGate(Gate):
    """Channels first, then places: the convolutional block attention module, Woo et al. 2018, eq. 1.

    Args:
        size: D.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.channel = ChannelGate(size, maximum=True)
        self.spatial = SpatialGate(size)

    def channel_weights(self, grid: Tensor, inside: Tensor) -> Tensor:
        return self.channel.channel_weights(grid, inside)

    def forward(self, grid: Tensor, inside: Tensor) -> Tensor:
        return self.spatial(self.channel(grid, inside), inside)


GATES: dict[str, type[Gate]] = {"channel": ChannelGate, "spatial": SpatialGate, "combined": CombinedGate}


def create_gate(name: str, size: int) -> Gate | None:
    """The gate called ``name`` for D = ``size`` channels, or ``None`` for ``none``.

    Raises:
        ValueError: for another name.
    """
    if name == "none":
        return None
    if name not in GATES:
        raise ValueError(f"gate: expected one of none, {', '.join(GATES)}, got {name!r}")
    return GATES[name](size)
