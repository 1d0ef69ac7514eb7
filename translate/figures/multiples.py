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
from translate.figures.figure import check_extension, drawing, find_colour_map, save, text_sizes
from translate.figures.matrix import is_right_to_left, label

_CHOSEN = "tab:orange"
_FONT, _WORD_FONT = 10, 8  # points
_TITLE, _FRAMED = "attention by layer and head", "in the frame: used for alignments"
_MOST_WORDS = 16  # of a side; more words are not written beside the panels
_MARGIN, _GAP, _BAR_WIDTH, _BAR_LABELS = 0.12, 0.1, 0.1, 0.5  # inches, as all lengths here
_WIDEST = 14.0  # of all panels together
_NARROWEST = 0.8  # the longer side of a panel of few words
_NAME = 0.6  # of a head or layer


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
    cell = float(np.interp(max(T, S), [3, 16, 80], [0.3, 0.17, 0.03]))
    cell = min(max(cell, _NARROWEST / max(T, S)), _WIDEST / (H * S), _WIDEST / (L * T))
    panel_width, panel_height = S * cell, T * cell
    column, row = max(panel_width, _NAME), max(panel_height, _NAME)  # their names must fit
    name_width = 1.7 * _FONT / 72  # of the layer's name, which is rotated
    word_sizes = text_sizes(sources, _WORD_FONT)
    upright = all(width <= 0.9 * cell for width, _ in word_sizes)
    words_width = max((width for width, _ in text_sizes(targets, _WORD_FONT)), default=0) + 0.06
    words_height = max((height if upright else width for width, height in word_sizes), default=0) + 0.06
    title_lines = [_TITLE, *([_FRAMED] if frames else [])]
    line = 1.6 * _FONT / 72
    head_names = _MARGIN + line * len(title_lines) + 0.06
    left, top = _MARGIN + name_width + words_width, head_names + line + words_height
    right = left + H * column + (H - 1) * _GAP
    width = right + 2 * _GAP + _BAR_WIDTH + _BAR_LABELS + _MARGIN
    width = max(width, max(size for size, _ in text_sizes(title_lines, _FONT)) + 2 * _MARGIN)
    height = max(top + L * row + (L - 1) * _GAP + _MARGIN, top + 0.6)
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    for number, text in enumerate(title_lines):
        below, colour = 1 - (_MARGIN + number * line) / height, _CHOSEN if number else "black"
        figure.text(_MARGIN / width, below, text, va="top", fontsize=_FONT, color=colour)
    for layer, head in np.ndindex(L, H):
        x = left + head * (column + _GAP) + (column - panel_width) / 2
        y = top + layer * (row + _GAP) + (row - panel_height) / 2
        axes = figure.add_axes(
            (x / width, 1 - (y + panel_height) / height, panel_width / width, panel_height / height)
        )
        _draw_panel(axes, weights[layer, head], colours, right_to_left)
        _label_panel(axes, sources if layer == 0 else [], targets if head == 0 else [], upright=upright)
        if layer == 0:
            centre, highest = (x + panel_width / 2) / width, 1 - head_names / height
            figure.text(centre, highest, f"head {head}", ha="center", va="top", fontsize=_FONT)
        if head == 0:
            middle = 1 - (y + panel_height / 2) / height
            figure.text(_MARGIN / width, middle, f"layer {layer}", rotation=90, va="center", fontsize=_FONT)
        for spine in axes.spines.values():
            spine.set(linewidth=2.2 if (layer, head) in frames else 0.6)
            spine.set_edgecolor(_CHOSEN if (layer, head) in frames else "0.5")
    _draw_bar(figure, colours, right + 2 * _GAP, top)
    return figure


def _draw_bar(figure: Figure, colours: Colormap, left: float, top: float) -> None:
    """The scale of the weights, with its upper left corner at ``left`` and ``top``, in inches."""
    width, height = figure.get_size_inches()
    tall = min(height - top - _MARGIN, 1.5)
    bar = figure.add_axes((left / width, 1 - (top + tall) / height, _BAR_WIDTH / width, tall / height))
    figure.colorbar(ScalarMappable(Normalize(0, 1), colours), cax=bar, ticks=[0, 0.5, 1])
    bar.tick_params(labelsize=_WORD_FONT, length=2)
    bar.set_ylabel("weight", fontsize=_WORD_FONT)


def _draw_panel(axes: Axes, weights: np.ndarray, colours: Colormap, right_to_left: bool) -> None:
    T, S = weights.shape
    axes.pcolormesh(weights, cmap=colours, vmin=0, vmax=1)
    axes.set(xlim=(S, 0) if right_to_left else (0, S), ylim=(T, 0))


def _label_panel(axes: Axes, sources: list[str], targets: list[str], *, upright: bool) -> None:
    axes.tick_params(length=0, pad=2)
    axes.xaxis.tick_top()
    axes.set_xticks(np.arange(len(sources)) + 0.5)
    axes.set_yticks(np.arange(len(targets)) + 0.5)
    axes.set_xticklabels(sources, rotation=0 if upright else 90, fontsize=_WORD_FONT, parse_math=False)
    axes.set_yticklabels(targets, fontsize=_WORD_FONT, parse_math=False)
