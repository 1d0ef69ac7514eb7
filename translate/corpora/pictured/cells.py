"""Batches of sources with patches: see `translate/corpora/images/patches.py`.

Shapes: B sources, S positions, C numbers of a cell.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from translate.corpora.images.patches import cells_of, has_patches, piece_cells


def pad_cells(sources: Sequence[Sequence[int | bytes] | np.ndarray]) -> tuple[Tensor, Tensor | None]:
    """Stack sources, some of which have patches: cells (B, S, C) int32 and a mask (B, S) or ``None``."""
    cells = [_as_cells(source) for source in sources]
    size = next(each.shape[1] for each in cells if each.ndim == 2)
    cells = [each if each.ndim == 2 else piece_cells(each, size) for each in cells]
    longest = max(map(len, cells))
    padded = np.zeros((len(cells), longest, size), np.int32)
    for row, each in enumerate(cells):
        padded[row, : len(each)] = each
    lengths = np.array([len(each) for each in cells])
    mask = None if (lengths == longest).all() else torch.from_numpy(np.arange(longest) < lengths[:, None])
    return torch.from_numpy(padded), mask


def _as_cells(source: Sequence[int | bytes] | np.ndarray) -> np.ndarray:
    if isinstance(source, np.ndarray):
        return source
    return cells_of(source) if has_patches(source) else np.asarray(source, np.int32)
