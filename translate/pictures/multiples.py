"""Small multiples: the attention of all layers and heads side by side."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, Normalize
from matplotlib.figure import Figure

from translate.errors import UserError
from translate.pictures.figure import check_extension, drawing, find_colour_map, save, text_sizes
from translate.pictures.matrix import is_right_to_left, label

_CHOSEN = "tab:orange"
_FONT, _WORD_FONT = 9, 7  # points
_MOST_WORDS = 16  # of a side; more words are not written beside the panels
_MARGIN, _GAP, _BAR_WIDTH, _BAR_LABELS = 0.12, 0.1, 0.1, 0.5  # inches, as all lengths here
_WIDEST = 14.0  # of all panels together


def draw_heads(
    weights: np.ndarray,
    source_words: Sequence[str],
    target_words: Sequence[str],
    path: str | Path,
    *,
    chosen: tuple[int, Sequence[int]] | None = None,
    colour_map: str = "gray",
) -> Path:
    """Draw all heads on one scale from 0 to 1, with a row for each layer and a column for each head.

    Words are written beside the outer panels if they are few.

    Args:
        weights: (layers, heads, T, S).
        path: the picture, png, pdf or svg by extension; missing folders are created.
        chosen: a layer and some of its heads, to be framed.
        colour_map: name of a matplotlib colour map.
    Returns:
        The path.
    Raises:
        UserError: for another extension, an unknown colour map, no words, or a path that cannot be written.
        ValueError: if the weights do not have a row for each target word and a column for each source word.
    """
    path = check_extension(path)
    colours = find_colour_map(colour_map)
    expected = (len(target_words), len(source_words))
    if weights.ndim != 4 or weights.shape[2:] != expected:
        raise ValueError(f"weights have shape {weights.shape}, expected (layers, heads, *{expected})")
    if not weights.size:
        raise UserError(f"{path}: nothing to draw: {expected[1]} source and {expected[0]} target words")
    sources = [label(word) for word in source_words] if expected[1] <= _MOST_WORDS else []
    targets = [label(word) for word in target_words] if expected[0] <= _MOST_WORDS else []
    with drawing([*sources, *targets]):
        frames = set() if chosen is None else {(chosen[0], head) for head in chosen[1]}
        figure = _compose(weights, sources, targets, frames, colours, is_right_to_left(source_words))
        save(figure, path)
    return path


def _compose(
    weights: np.ndarray,
    sources: list[str],
    targets: list[str],
    frames: set[tuple[int, int]],
    colours: Colormap,
    right_to_left: bool,
) -> Figure:
    L, H, T, S = weights.shape
    cell = float(np.interp(max(T, S), [3, 16, 80], [0.3, 0.15, 0.03]))
    cell = min(cell, _WIDEST / (H * S), _WIDEST / (L * T))
    panel_width, panel_height = S * cell, T * cell
    name_width = 1.7 * _FONT / 72  # of the layer's name, which is rotated
    words_width = max((width for width, _ in text_sizes(targets, _WORD_FONT)), default=0) + 0.04
    words_height = max((width for width, _ in text_sizes(sources, _WORD_FONT)), default=0) + 0.04
    left, top = _MARGIN + name_width + words_width, _MARGIN + 1.6 * _FONT / 72 + words_height
    right = left + H * panel_width + (H - 1) * _GAP
    width = right + 2 * _GAP + _BAR_WIDTH + _BAR_LABELS + _MARGIN
    height = max(top + L * panel_height + (L - 1) * _GAP + _MARGIN, top + 0.6)
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    for layer, head in np.ndindex(L, H):
        x, y = left + head * (panel_width + _GAP), top + layer * (panel_height + _GAP)
        axes = figure.add_axes(
            (x / width, 1 - (y + panel_height) / height, panel_width / width, panel_height / height)
        )
        _draw_panel(axes, weights[layer, head], colours, right_to_left)
        _label_panel(axes, sources if layer == 0 else [], targets if head == 0 else [])
        if layer == 0:
            centre = (x + panel_width / 2) / width
            figure.text(
                centre,
                1 - _MARGIN / height,
                f"head {head}",
                ha="center",
                va="top",
                fontsize=_FONT,
            )
        if head == 0:
            middle = 1 - (y + panel_height / 2) / height
            figure.text(_MARGIN / width, middle, f"layer {layer}", rotation=90, va="center", fontsize=_FONT)
        for spine in axes.spines.values():
            spine.set(linewidth=2.2 if (layer, head) in frames else 0.6)
            spine.set_edgecolor(_CHOSEN if (layer, head) in frames else "0.5")
    tall = min(height - top - _MARGIN, 1.5)
    bar = figure.add_axes(
        ((right + 2 * _GAP) / width, 1 - (top + tall) / height, _BAR_WIDTH / width, tall / height)
    )
    figure.colorbar(ScalarMappable(Normalize(0, 1), colours), cax=bar, ticks=[0, 0.5, 1])
    bar.tick_params(labelsize=_WORD_FONT, length=2)
    bar.set_ylabel("attention", fontsize=_WORD_FONT)
    return figure


def _draw_panel(axes: Axes, weights: np.ndarray, colours: Colormap, right_to_left: bool) -> None:
    T, S = weights.shape
    axes.pcolormesh(weights, cmap=colours, vmin=0, vmax=1)
    axes.set(xlim=(S, 0) if right_to_left else (0, S), ylim=(T, 0))


def _label_panel(axes: Axes, sources: list[str], targets: list[str]) -> None:
    axes.tick_params(length=0, pad=2)
    axes.xaxis.tick_top()
    axes.set_xticks(np.arange(len(sources)) + 0.5)
    axes.set_yticks(np.arange(len(targets)) + 0.5)
    axes.set_xticklabels(sources, rotation=90, fontsize=_WORD_FONT, parse_math=False)
    axes.set_yticklabels(targets, fontsize=_WORD_FONT, parse_math=False)
