"""The region of a picture that each target word looked at, as small multiples: Xu et al. 2015, figure 3.

Shapes: T target words, R rows and C columns of patches, S words of the sentence beside the picture.
"""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from translate.corpora.images.patches import Image
from translate.errors import UserError
from translate.figures.figure import check_extension, drawing, save, text_sizes
from translate.figures.matrix import label

_TILE, _GAP, _MARGIN = 1.15, 0.12, 0.14  # inches, as all lengths here
_FONT, _SMALL = 10, 8  # points
_ACROSS = 7  # tiles in a row
_BAR_HEIGHT, _BAR_WIDTH = 1.3, 6.0  # of the panel of channels
_COLOUR = np.array([1.0, 0.35, 0.0])  # of the light that lies where a word looked
_DIM = 0.3  # brightness of a picture where a word did not look
_MOST_TILES = 400


def glow(picture: Image, weights: np.ndarray) -> np.ndarray:
    """The picture (H, W, 3), bright where a word looked: weights (R, C), by the greatest of them.

    Between the middles of patches the light is interpolated, as in the paper.
    """
    greatest = float(weights.max())
    share = weights / greatest if greatest > 0 else weights
    fine = _enlarge(share, picture.patch_size)[..., None]
    pixels = picture.pixels.astype(np.float64) / 255
    grey = pixels.mean(2, keepdims=True)
    dark = _DIM * (0.5 * pixels + 0.5 * grey)
    return np.clip(dark + fine * (0.85 * pixels + 0.15 * _COLOUR - dark), 0, 1)


def _enlarge(values: np.ndarray, size: int) -> np.ndarray:
    """Bilinear interpolation of patches (R, C) to pixels (R size, C size)."""
    for axis in (0, 1):
        count = values.shape[axis]
        places = np.clip((np.arange(count * size) + 0.5) / size - 0.5, 0, count - 1)
        low = np.floor(places).astype(int)
        high = np.minimum(low + 1, count - 1)
        part = (places - low).reshape([-1 if each == axis else 1 for each in (0, 1)])
        values = values.take(low, axis) * (1 - part) + values.take(high, axis) * part
    return values


def draw_regions(
    picture: Image,
    words: Sequence[str],
    weights: np.ndarray,
    path: str | Path,
    *,
    sentence: Sequence[str] = (),
    beside: np.ndarray | None = None,
    title: str = "",
    method: str = "",
    channels: np.ndarray | None = None,
) -> Path:
    """Draw the picture, and for each target word the picture lit where the word looked.

    Args:
        words: T target words.
        weights: (T, R, C), from 0 to 1.
        path: the file, png, pdf or svg by extension; missing folders are created.
        sentence: the words beside the picture.
        beside: (T, S) weights of these words; under each tile stands the one with the greatest weight, and
            the share of all attention that the picture has.
        title: above the tiles.
        method: a caption for the weights.
        channels: weights of the channels of a gate, which are drawn as bars.
    Returns:
        The path.
    Raises:
        UserError: for another extension, no words, or too many of them.
        ValueError: if the weights do not fit the words and the picture.
    """
    path = check_extension(path)
    if not words:
        raise UserError(f"{path}: nothing to draw: no target words")
    if len(words) > _MOST_TILES:
        raise UserError(f"{path}: {len(words):,} target words; expected at most {_MOST_TILES}")
    expected = (len(words), picture.rows, picture.columns)
    if weights.shape != expected:
        raise ValueError(f"weights have shape {weights.shape}, expected (T, rows, columns) = {expected}")
    labels = [label(word) for word in words]
    notes = _notes(weights, beside, [label(word) for word in sentence])
    lines = [line for line in (label(title, 90), label(" ".join(sentence), 90), method) if line]
    with drawing([*labels, *notes, *lines]):
        save(_compose(picture, labels, notes, weights, lines, channels), path)
    return path


def _notes(weights: np.ndarray, beside: np.ndarray | None, sentence: Sequence[str]) -> list[str]:
    """What is written under each tile."""
    if beside is None or not sentence:
        return [""] * len(weights)
    return [
        f"{sentence[int(row.argmax())]} · {100 * tile.sum():.0f} %" if row.any() else ""
        for row, tile in zip(beside, weights, strict=True)
    ]


def _compose(
    picture: Image,
    labels: Sequence[str],
    notes: Sequence[str],
    weights: np.ndarray,
    lines: Sequence[str],
    channels: np.ndarray | None,
) -> Figure:
    tiles = len(labels) + 1
    across = min(tiles, _ACROSS)
    down = math.ceil(tiles / across)
    ratio = picture.pixels.shape[0] / picture.pixels.shape[1]
    widest = max(size for size, _ in text_sizes([*labels, *notes], _FONT))
    step = max(_TILE, min(widest, 2 * _TILE)) + _GAP
    under = (2.6 if any(notes) else 1.2) * _FONT / 72
    tall = _TILE * ratio + 1.9 * _FONT / 72 + under
    top = _MARGIN + 1.7 * _FONT / 72 * len(lines)
    bars = _BAR_HEIGHT if channels is not None else 0.0
    text_width = max((size for size, _ in text_sizes(lines, _FONT)), default=0.0)
    width = max(across * step - _GAP, text_width, _BAR_WIDTH if bars else 0.0) + 2 * _MARGIN
    height = top + down * tall + bars + _MARGIN
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    for number, line in enumerate(lines):
        y = 1 - (_MARGIN + 1.7 * _FONT / 72 * number) / height
        figure.text(_MARGIN / width, y, line, va="top", fontsize=_FONT, parse_math=False)
    for index in range(tiles):
        row, column = divmod(index, across)
        left = _MARGIN + column * step + (step - _GAP - _TILE) / 2
        below = height - top - row * tall - 1.9 * _FONT / 72 - _TILE * ratio
        axes = figure.add_axes((left / width, below / height, _TILE / width, _TILE * ratio / height))
        if index == 0:
            _show(axes, picture.pixels / 255, "", "")
        else:
            lit = glow(picture, weights[index - 1])
            _show(axes, lit, labels[index - 1], notes[index - 1])
    if channels is not None:
        _draw_channels(figure, np.sort(channels)[::-1], (width, height))
    return figure


def _show(axes: Axes, pixels: np.ndarray, word: str, note: str) -> None:
    axes.imshow(pixels, interpolation="nearest")
    axes.set(xticks=[], yticks=[])
    axes.set_title(word, fontsize=_FONT, pad=3, parse_math=False)
    axes.set_xlabel(note, fontsize=_SMALL, labelpad=2, parse_math=False)
    for spine in axes.spines.values():
        spine.set(linewidth=0.6, edgecolor="0.5")


def _draw_channels(figure: Figure, weights: np.ndarray, size: tuple[float, float]) -> None:
    """The weights of the channels as bars, the greatest first."""
    width, height = size
    box = (0.55 / width, 0.42 / height, (width - 0.55 - _MARGIN) / width, (_BAR_HEIGHT - 0.55) / height)
    axes = figure.add_axes(box)
    axes.bar(np.arange(len(weights)), weights, width=1.0, color=tuple(_COLOUR))
    axes.set(xlim=(-0.5, len(weights) - 0.5), ylim=(0, 1), yticks=[0, 0.5, 1])
    axes.tick_params(labelsize=_SMALL, length=2)
    axes.set_xlabel(f"{len(weights)} channels, by weight", fontsize=_SMALL, labelpad=2)
    axes.set_ylabel("weight", fontsize=_SMALL)
