"""The regions of an image that each target word looked at: small multiples as in Xu et al. 2015, or a page.

Shapes: T target words, R rows and C columns of patches, S words of the sentence beside the image.
"""

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
import torch.nn.functional as F

from translate.corpora.images.patches import Image
from translate.errors import UserError
from translate.figures.matrix import WordMatrix, label
from translate.figures.page import asset, embed, escape, filled, plain, write_page

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DIGITS = 4  # of a weight
_TILE = 1.5  # inches
_FONT, _SMALL = 10, 8  # points
_ACROSS = 7  # tiles in a row
_COLOUR = np.array([1.0, 0.35, 0.0])  # of the light that lies where a word looked
_DIM = 0.3  # brightness of an image where a word did not look
_MOST_TILES = 400


class ImageMatrix(WordMatrix, Protocol):
    """Weights whose first columns are the patches of an image, row by row."""

    @property
    def picture(self) -> Image | None: ...


def show_regions(matrix: ImageMatrix, path: str | Path, *, title: str | None = None) -> Path:
    """Draw the region of each word over the image, to png, pdf or svg, or write an html page.

    Under each tile of a picture stand the word of the sentence with the greatest weight, and the share of all
    attention that the image has.

    Args:
        matrix: with an image.
        path: the file; its extension chooses the format.
        title: at the top.
    Returns:
        The path.
    Raises:
        UserError: for another extension, no target words, or too many for a picture.
    """
    image = matrix.picture
    assert image is not None
    sentence, words = list(matrix.source_words)[len(image) :], matrix.target_words
    if not words:
        raise UserError(f"{path}: nothing to draw: no target words")
    if Path(path).suffix.lower() == ".html":
        page = ImagePage(image, sentence, words, matrix.weights, note=matrix.method)
        return (page if title is None else replace(page, title=title)).write(path)
    lines = [line for line in (label(title or "", 90), label(" ".join(sentence), 90), matrix.method) if line]
    from matplotlib.figure import Figure  # slow to import, and a page needs none of it

    from translate.figures.figure import check_extension, drawing, save

    path = check_extension(path)
    if len(words) > _MOST_TILES:
        raise UserError(f"{path}: {len(words):,} target words; expected at most {_MOST_TILES}")
    with drawing([*(label(word) for word in (*words, *sentence)), *lines]):
        across = min(len(words) + 1, _ACROSS)
        down = math.ceil((len(words) + 1) / across)
        tall = _TILE * image.pixels.shape[0] / image.pixels.shape[1] + 0.5
        figure = Figure(figsize=(across * _TILE, tall * down))
        grid = figure.add_gridspec(down, across, left=0, bottom=0, right=1, top=1)
        tiles = [figure.add_subplot(grid[divmod(index, across)]) for index in range(len(words) + 1)]
        _draw_tiles(tiles, image, sentence, words, matrix.weights)
        figure.text(0, 1, "\n".join((*lines, "")), va="bottom", fontsize=_FONT, parse_math=False)
        save(figure, path)
    return path


@dataclass(frozen=True)
class ImagePage:
    """An image, perhaps with a sentence, and what was written about it: point at a word to see its region.

    Attributes:
        image: as the model read it.
        source_words: S words beside the image.
        target_words: T words.
        weights: (T, patches + S), from 0 to 1, the patches row by row.
        title, note: shown at the top.
    """

    image: Image
    source_words: Sequence[str]
    target_words: Sequence[str]
    weights: np.ndarray
    title: str = "What each word looked at"
    note: str = ""

    def html(self) -> str:
        """The text of the file; equal pages give equal text."""
        return filled(
            "picture",
            asset("picture.js"),
            data=embed(self._data()),
            title=escape(self.title),
            note=escape(self.note),
            plain=plain(self.source_words, self.target_words),
        )

    def write(self, path: str | Path) -> Path:
        """Write the page; raises UserError if it cannot be written."""
        return write_page(path, self.html())

    def _data(self) -> dict[str, Any]:
        count = len(self.image)
        weights = np.round(self.weights.astype(np.float64), DIGITS)
        return {
            "size": list(self.image.pixels.shape[:2]),
            "grid": [self.image.rows, self.image.columns],
            "pixels": base64.b64encode(np.ascontiguousarray(self.image.pixels).tobytes()).decode("ascii"),
            "source": [label(word) for word in self.source_words],
            "target": [label(word) for word in self.target_words],
            "picture": weights[:, :count].tolist(),
            "beside": weights[:, count:].tolist(),
        }


def glow(image: Image, weights: np.ndarray) -> np.ndarray:
    """The image (H, W, 3), bright where a word looked: weights (R, C), by the greatest of them.

    Between the middles of patches the light is interpolated, as in the paper.
    """
    greatest = float(weights.max())
    share = weights / greatest if greatest > 0 else weights
    fine = _enlarge(share, image.patch_size)[..., None]
    pixels = image.pixels.astype(np.float64) / 255
    grey = pixels.mean(2, keepdims=True)
    dark = _DIM * (0.5 * pixels + 0.5 * grey)
    return np.clip(dark + fine * (0.85 * pixels + 0.15 * _COLOUR - dark), 0, 1)


def _enlarge(values: np.ndarray, size: int) -> np.ndarray:
    """Bilinear interpolation of patches (R, C) to pixels (R size, C size)."""
    maps = torch.from_numpy(values.astype(np.float64))[None, None]
    return F.interpolate(maps, scale_factor=size, mode="bilinear")[0, 0].numpy()


def _draw_tiles(
    tiles: "Sequence[Axes]", image: Image, sentence: Sequence[str], words: Sequence[str], weights: np.ndarray
) -> None:
    tiles[0].imshow(image.pixels, interpolation="nearest")
    for axes, word, row in zip(tiles[1:], words, weights, strict=True):
        patches, beside = row[: len(image)], row[len(image) :]
        axes.imshow(glow(image, patches.reshape(image.rows, image.columns)), interpolation="nearest")
        axes.set_title(label(word, 18), fontsize=_FONT, pad=3, parse_math=False)
        if beside.any():
            note = f"{label(sentence[int(beside.argmax())], 14)} · {100 * patches.sum():.0f} %"
            axes.set_xlabel(note, fontsize=_SMALL, labelpad=2, parse_math=False)
    for axes in tiles:
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set(linewidth=0.6, edgecolor="0.5")
