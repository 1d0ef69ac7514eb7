"""Cells of a source as tensors: which positions are patches, where they stand, and their pixels.

Shapes: B batch, S source positions, D width, P patch size, R rows and C columns of the largest picture.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from translate.corpora.images.patches import HEAD, PATCH, ROW_BITS

MIDDLE, SPREAD = 128.0, 64.0  # of a pixel's colour


class Places(NamedTuple):
    """Where the positions of a source stand.

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
        """Which places have a patch: (B, 1, R, C) bool."""
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
