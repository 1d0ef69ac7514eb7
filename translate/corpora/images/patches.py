"""An image as a grid of patches, and a source of patches and pieces as rows of integers.

A *cell* is one source position: a piece or a patch. A row of cells is int32: the id of the piece or
``PATCH``; the position, ``row << 16 | column`` of a patch and the number of a piece in its sentence; and the
pixels of a patch, four bytes to an integer.

Shapes: S source positions, P patch size, C numbers of a cell.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

PATCH = -1  # the id of a position that is a patch
HEAD = 2  # numbers of a cell before its pixels
ROW_BITS = 16  # a patch's position is row << ROW_BITS | column


@dataclass(frozen=True, eq=False)
class Image:
    """Pixels whose height and width are multiples of the patch size.

    Attributes:
        pixels: (height, width, 3) uint8.
        patch_size: P.
    """

    pixels: np.ndarray
    patch_size: int

    @property
    def rows(self) -> int:
        return int(self.pixels.shape[0]) // self.patch_size

    @property
    def columns(self) -> int:
        return int(self.pixels.shape[1]) // self.patch_size

    def __len__(self) -> int:
        """The number of patches."""
        return self.rows * self.columns

    def cells(self) -> np.ndarray:
        """(patches, C) int32, row by row."""
        size, rows, columns = self.patch_size, self.rows, self.columns
        parts = self.pixels.reshape(rows, size, columns, size, 3).transpose(0, 2, 1, 3, 4)
        found = np.empty((len(self), cell_size(size)), np.int32)
        found[:, 0] = PATCH
        found[:, 1] = (np.arange(rows)[:, None] << ROW_BITS | np.arange(columns)).reshape(-1)
        found[:, HEAD:] = np.ascontiguousarray(parts).reshape(len(self), -1).view(np.int32)
        return found

    def ids(self) -> list[bytes]:
        """The patches as elements of a list of ids."""
        return [cell.tobytes() for cell in self.cells()]


def cell_size(patch_size: int) -> int:
    """C, the numbers of a cell."""
    return HEAD + 3 * patch_size**2 // 4


def piece_cells(ids: Sequence[int] | np.ndarray, size: int) -> np.ndarray:
    """Pieces of one sentence as cells (S, ``size``)."""
    found = np.zeros((len(ids), size), np.int32)
    found[:, 0] = ids
    found[:, 1] = np.arange(len(ids))
    return found


def cells_of(ids: Sequence[int | bytes]) -> np.ndarray:
    """A list of patches (bytes) and then pieces (int) as cells (S, C)."""
    patches = [cell for cell in ids if isinstance(cell, bytes)]
    joined = np.frombuffer(b"".join(patches), np.int32).reshape(len(patches), -1)
    pieces = [piece for piece in ids[len(patches) :] if isinstance(piece, int)]
    return np.concatenate([joined, piece_cells(pieces, joined.shape[1])])


def all_cells(sources: Sequence[Sequence[int | bytes] | np.ndarray]) -> list[np.ndarray]:
    """Sources as cells (S, C), if some of them have patches."""
    cells = [
        np.asarray(source) if isinstance(source, np.ndarray) or not has_patches(source) else cells_of(source)
        for source in sources
    ]
    size = max(source.shape[1] for source in cells if source.ndim == 2)
    return [source if source.ndim == 2 else piece_cells(source, size) for source in cells]


def has_patches(source: Sequence[int | bytes] | np.ndarray) -> bool:
    """Whether a source starts with patches, as one with an image does."""
    if isinstance(source, np.ndarray):
        return source.ndim == 2
    return len(source) > 0 and isinstance(source[0], bytes)


def end_source(source: np.ndarray, end: int) -> np.ndarray:
    """Ids (S,) or cells (S, C) with the end of sentence."""
    if source.ndim == 1:
        return np.append(source, end)
    last = np.zeros((1, source.shape[1]), np.int32)
    last[0, 0] = end
    last[0, 1] = (source[:, 0] != PATCH).sum()
    return np.concatenate([source, last])


def names(rows: int, columns: int) -> Iterator[str]:
    """The names of patches among source words: `1,1`, `1,2` ..., row and column."""
    return (f"{row},{column}" for row in range(1, rows + 1) for column in range(1, columns + 1))
