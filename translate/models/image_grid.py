"""Images as grids: cells of a source as tensors, and gates that multiply a feature map.

Cells say which positions are patches, where these stand, and their pixels. Unlike a mechanism, a gate has no
query: the map itself says what of it matters. Its weights are sigmoids, so that they do not compete.

Shapes: B batch, S source positions, D width or channels, P patch size, R rows and C columns of the largest
image. Places outside an image are zero, and are never counted.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from translate.corpora.images.patches import HEAD, PATCH, ROW_BITS

MIDDLE, SPREAD = 128.0, 64.0  # of a pixel's colour
REDUCTION = 4  # of the channels, between the two layers of a gate
KERNEL = 7  # rows and columns that a spatial gate sees: Woo et al. 2018, table 2


class Places(NamedTuple):
    """The places of the positions of a source.

    Attributes:
        patch: (B, S) bool: whether a position is a patch.
        row, column: (B, S) int64, of a patch in its picture.
        number: (B, S) int64, of a piece in its sentence.
    """

    patch: Tensor
    row: Tensor
    column: Tensor
    number: Tensor

    @classmethod
    def of(cls, cells: Tensor) -> "Places":
        """The places of cells (B, S, numbers of a cell)."""
        patch, position = cells[..., 0] == PATCH, cells[..., 1].long()
        low = (1 << ROW_BITS) - 1
        return cls(
            patch,
            (position >> ROW_BITS).masked_fill(~patch, 0),
            (position & low).masked_fill(~patch, 0),
            position.masked_fill(patch, 0),
        )

    def grid(self) -> "Grid":
        """The layout of the patches; a GPU synchronises here."""
        rows, columns = int(self.row.max()) + 1, int(self.column.max()) + 1
        outside = rows * columns
        index = (self.row * columns + self.column).masked_fill(~self.patch, outside)
        return Grid(index, rows, columns)


class Grid(NamedTuple):
    """Patches laid out as pictures; ``slots`` (B, S) is R C for positions that are no patch."""

    slots: Tensor
    rows: int
    columns: int

    def lay_out(self, values: Tensor) -> Tensor:
        """Values of positions (B, S, D) as maps (B, D, R, C), zero where no patch stands."""
        size = self.rows * self.columns
        laid = values.new_zeros(values.shape[0], size + 1, values.shape[2])
        laid = laid.scatter(1, self.slots.unsqueeze(2).expand_as(values), values)[:, :size]
        return laid.transpose(1, 2).unflatten(2, (self.rows, self.columns))  # (B, D, R, C)

    def inside(self) -> Tensor:
        """The places that have a patch: (B, 1, R, C) bool."""
        ones = torch.ones_like(self.slots, dtype=torch.float32).unsqueeze(2)
        return self.lay_out(ones) > 0

    def read(self, maps: Tensor) -> Tensor:
        """Maps (B, D, R, C) at the positions: (B, S, D), anything where no patch stands."""
        flat = maps.flatten(2).transpose(1, 2)  # (B, R C, D)
        index = self.slots.clamp(max=flat.shape[1] - 1)
        return flat.gather(1, index.unsqueeze(2).expand(-1, -1, flat.shape[2]))


def pixels_of(cells: Tensor, patch_size: int, dtype: torch.dtype) -> Tensor:
    """The pixels of each position, about -2 to 2: (B, S, 3 P P); those of a piece are meaningless."""
    found = cells[..., HEAD:].contiguous().view(torch.uint8)
    if found.shape[-1] != 3 * patch_size**2:
        raise ValueError(
            f"patch_size: expected patches of {3 * patch_size**2} numbers, got {found.shape[-1]}"
        )
    return (found.to(dtype) - MIDDLE) / SPREAD


def whole_pictures(pixels: Tensor, grid: Grid, patch_size: int) -> Tensor:
    """Pictures (B, 3, R P, C P) from the pixels of positions (B, S, 3 P P), zero outside."""
    maps = grid.lay_out(pixels).unflatten(1, (patch_size, patch_size, 3))  # (B, P, P, 3, R, C)
    maps = maps.permute(0, 3, 4, 1, 5, 2)  # (B, 3, R, P, C, P)
    return maps.flatten(4, 5).flatten(2, 3)


def masked_mean(grid: Tensor, inside: Tensor) -> Tensor:
    """The mean of each channel over the picture: (B, D, R, C) and (B, 1, R, C) -> (B, D)."""
    return (grid * inside).sum((2, 3)) / inside.sum((2, 3)).clamp_min(1)


def masked_maximum(grid: Tensor, inside: Tensor) -> Tensor:
    """The maximum of each channel over the picture, 0 without one: (B, D, R, C) -> (B, D)."""
    found = grid.masked_fill(~inside, -torch.inf).amax((2, 3))
    return torch.where(inside.any(3).any(2), found, 0.0)


class ChannelGate(nn.Module):
    """s = sigmoid(W2 relu(W1 z)), z the mean of each channel: squeeze and excitation, Hu et al. 2018, 3.

    As of all gates, ``forward(grid, inside)`` takes a map (B, D, R, C), and (B, 1, R, C) bool, True = part of
    the picture; it gives the gated map.

    Args:
        size: D.
        maximum: add the same layers' answer to the maxima, as Woo et al. 2018, eq. 2, do.
    """

    def __init__(self, size: int, *, maximum: bool = False) -> None:
        super().__init__()
        self.maximum = maximum
        self.squeeze = nn.Linear(size, max(1, size // REDUCTION))
        self.excite = nn.Linear(max(1, size // REDUCTION), size)

    def forward(self, grid: Tensor, inside: Tensor) -> Tensor:
        energy = self._energy(masked_mean(grid, inside))  # (B, D)
        if self.maximum:
            energy = energy + self._energy(masked_maximum(grid, inside))
        return grid * torch.sigmoid(energy)[:, :, None, None]

    def _energy(self, summary: Tensor) -> Tensor:
        return self.excite(F.relu(self.squeeze(summary)))


class SpatialGate(nn.Module):
    """sigmoid(f([mean; maximum])) over the channels, f a 7 x 7 convolution: Woo et al. 2018, eq. 3.

    Args:
        size: D, which does not matter.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(2, 1, KERNEL, padding=KERNEL // 2)

    def forward(self, grid: Tensor, inside: Tensor) -> Tensor:
        pooled = torch.cat([grid.mean(1, keepdim=True), grid.amax(1, keepdim=True)], dim=1)
        shares = torch.sigmoid(self.convolution(pooled * inside)) * inside  # (B, 1, R, C)
        return grid * shares


class CombinedGate(nn.Module):
    """Channels first, then places: the convolutional block attention module, Woo et al. 2018, eq. 1.

    Args:
        size: D.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.channel = ChannelGate(size, maximum=True)
        self.spatial = SpatialGate(size)

    def forward(self, grid: Tensor, inside: Tensor) -> Tensor:
        return self.spatial(self.channel(grid, inside), inside)


GATES: dict[str, Callable[[int], nn.Module]] = {
    "channel": ChannelGate,
    "spatial": SpatialGate,
    "combined": CombinedGate,
}


def create_gate(name: str, size: int) -> nn.Module | None:
    """The gate called ``name`` for D = ``size`` channels, or ``None`` for ``none``."""
    return None if name == "none" else GATES[name](size)
