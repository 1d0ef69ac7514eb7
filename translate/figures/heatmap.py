"""Heatmaps of alignments, as in Bahdanau et al. 2015, figure 3, and of all heads side by side."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from translate.config.names import shorten
from translate.errors import UserError
from translate.figures.figure import check_extension, drawing, find_colour_map, save, text_sizes
from translate.figures.matrix import PRINT, Style, WordMatrix, is_right_to_left, label
from translate.links.links import Gold

_MARKED = "tab:orange"  # gold links, breaks, and the chosen heads
_GAP = 0.12  # inches, as all lengths here
_BAR_WIDTH, _BAR_HEIGHT = 0.13, 2.4
_LONGEST_TITLE = 80  # characters
_MOST_WORDS = 16  # of a side beside the panels of all heads
_WIDEST, _NARROWEST = 14.0, 0.6  # all panels of heads together, and one
_WORD, _LARGER = 8, 1.25  # points of a word beside the panels; the names of layers and heads are larger
_HEADS, _FRAMED = "attention by layer and head", "in the frame: heads used for alignments"


def draw(
    alignments: Sequence[WordMatrix],
    path: str | Path,
    *,
    titles: Sequence[str] | None = None,
    values: bool = False,
    gold: Sequence[Gold | None] | None = None,
    style: Style = PRINT,
    breaks: Sequence[Sequence[int]] | None = None,
) -> Path:
    """Draw alignments side by side on one scale from 0 to 1, with title and method above.

    Args:
        path: the figure, png, pdf or svg by extension.
        titles: one for every alignment.
        values: write each weight into its cell.
        gold: links of the alignments; sure links get a solid frame, possible links a dashed one.
        style: colours, font and its size.
        breaks: source words before which a line is drawn, as where sentences begin.
    Returns:
        The path.
    Raises:
        UserError: for another extension, an unknown colour map or font, an alignment without words, or a path
            that cannot be written.
        ValueError: if there are no alignments, if titles or gold have another number, or for a gold link
            outside the words.
    """
    if not isinstance(style, Style):
        raise UserError(f"style: expected Style(colours='viridis') or the like, got {shorten(repr(style))}")
    path = check_extension(path, " (or .html for the page of one pair)")
    colours = find_colour_map(style.colours)
    _check(alignments, path, titles=titles, gold=gold, breaks=breaks)
    titles = [label(title, _LONGEST_TITLE) for title in titles or [""] * len(alignments)]
    words = [label(word) for one in alignments for word in (*one.source_words, *one.target_words)]
    with drawing([*words, *titles, *(one.method for one in alignments)], style):
        most = max(max(alignment.weights.shape) for alignment in alignments)
        cell = float(np.interp(most, [3, 10, 40], [0.5, 0.34, 0.2]))  # smaller for more words
        usual = float(np.interp(most, [3, 10, 40], [11, 10, 8]))  # of the font, points
        size, cell = style.size or usual, max(cell, 0.36) if values else cell
        figure, panels = _side_by_side(alignments, titles, cell * size / usual, size)
        for index, (axes, alignment) in enumerate(zip(panels, alignments, strict=True)):
            grey = np.array(colours(0.0)[:3])
            grid = tuple(grey + 0.45 * (0.5 - grey))  # visible, but fainter than a weight worth seeing
            right_to_left = is_right_to_left(alignment.source_words)
            _show(axes, alignment.weights, colours, right_to_left, edgecolors=grid, linewidth=0.4)
            _name(axes, alignment.source_words, alignment.target_words, size)
            caption = "\n".join(filter(None, (titles[index], alignment.method)))
            axes.set_title(caption, fontsize=size, parse_math=False, pad=8)
            for column in breaks[index] if breaks else ():
                axes.axvline(column, color=_MARKED, linewidth=1.2)
            _frame(axes, gold[index] if gold else None)
            if values:
                _write_values(axes, alignment.weights, colours, 7.5 * size / usual)
        _draw_scale(figure, panels, colours, size - 1)
        save(figure, path)
    return path


def _check(alignments: Sequence[WordMatrix], path: Path, **given_lists: Sequence[Any] | None) -> None:
    if not isinstance(alignments, Sequence) or not all(hasattr(one, "weights") for one in alignments):
        raise ValueError("expected a list of alignments, such as [result.alignment]")
    if not alignments:
        raise ValueError("no alignment to draw")
    for name, given in given_lists.items():
        if isinstance(given, str):
            raise ValueError(f"{name}: expected a list, with one for each alignment")
        if given is not None and len(given) != len(alignments):
            raise ValueError(f"{len(given)} {name} for {len(alignments)} alignments")
    for alignment, links in zip(alignments, given_lists["gold"] or [None] * len(alignments), strict=True):
        T, S = alignment.weights.shape
        if not T * S:
            raise UserError(f"{path}: nothing to draw: {S} source and {T} target words")
        for source, target in () if links is None else sorted(links.sure | links.possible):
            if not (0 <= source < S and 0 <= target < T):
                raise ValueError(f"gold link {source}-{target} lies outside {S} source and {T} target words")


def draw_heads(
    weights: np.ndarray,
    source_words: Sequence[str],
    target_words: Sequence[str],
    path: str | Path,
    *,
    chosen: tuple[int, Sequence[int]] | None = None,
    shift: int = 0,
    title: str = "",
    style: Style = PRINT,
) -> Path:
    """Draw all heads on one scale from 0 to 1, with a row for each layer and a column for each head.

    Words are written beside the outer panels if they are few.

    Args:
        weights: (layers, heads, T, S), a row for each target word and a column for each source word.
        path: the figure, png, pdf or svg by extension.
        chosen: a layer and some of its heads, to be framed.
        shift: 1 if the rows are those of inputs.
        title: before the line that says what is shown.
        style: colours, font and its size.
    Returns:
        The path.
    Raises:
        UserError: for another extension, an unknown colour map or font, no words, or a path that cannot be
            written.
    """
    path, colours = check_extension(path), find_colour_map(style.colours)
    if not weights.size:
        words = f"{len(source_words)} source and {len(target_words)} target words"
        raise UserError(f"{path}: nothing to draw: {words}")
    few = [words if len(words) <= _MOST_WORDS else () for words in (source_words, target_words)]
    title = label(title, _LONGEST_TITLE)
    with drawing([title, *(label(word) for words in few for word in words)], style):
        size = style.size or _WORD
        large = size * _LARGER
        figure, panels = _head_panels(weights.shape, size / _WORD)
        for (layer, head), axes in np.ndenumerate(panels):
            _show(axes, weights[layer, head], colours, is_right_to_left(source_words))
            _name(axes, few[0] if layer == 0 else (), few[1] if head == 0 else (), size)
            if layer == 0:
                axes.set_title(f"head {head}", fontsize=large)
            if head == 0:
                axes.set_ylabel(f"layer {layer}", fontsize=large)
            framed = chosen is not None and layer == chosen[0] and head in chosen[1]
            for spine in axes.spines.values():
                spine.set(linewidth=2.2 if framed else 0.6, edgecolor=_MARKED if framed else "0.5")
        below = -_GAP * size / _WORD / figure.get_figheight()
        heading = f"{title and f'{title}: '}{_HEADS}{', all with shift 1' * shift}"
        figure.text(0, below, heading, va="top", fontsize=large, parse_math=False)
        if chosen is not None:
            figure.text(0, 2.5 * below, _FRAMED, va="top", fontsize=large, color=_MARKED)
        _draw_scale(figure, panels.ravel(), colours, size)
        save(figure, path)
    return path


def _head_panels(shape: Sequence[int], scale: float) -> tuple[Figure, np.ndarray]:
    """A figure with axes (layers, heads) for weights of this shape, larger by `scale` than usual."""
    L, H, T, S = shape
    cell = float(np.interp(max(T, S), [3, 16, 80], [0.3, 0.17, 0.03]))
    cell = min(cell, _WIDEST / (H * S), _WIDEST / (L * T)) * scale
    width, height = max(S * cell, _NARROWEST), max(T * cell, _NARROWEST)
    figure = Figure(figsize=(H * width + (H - 1) * _GAP, L * height + (L - 1) * _GAP))
    figure.subplots_adjust(0, 0, 1, 1, wspace=_GAP / width, hspace=_GAP / height)
    return figure, figure.subplots(L, H, squeeze=False)


def _side_by_side(
    alignments: Sequence[WordMatrix], titles: Sequence[str], cell: float, size: float
) -> tuple[Figure, list[Axes]]:
    """Panels from left to right, with room for the words beside them and for the captions above."""
    lefts, right = [], 0.0
    for alignment, title in zip(alignments, titles, strict=True):
        words = max(width for width, _ in text_sizes([label(word) for word in alignment.target_words], size))
        caption = max(width for width, _ in text_sizes([title, alignment.method], size))
        width = alignment.weights.shape[1] * cell
        beside = max(0.0, (caption - width) / 2)  # the part of the caption on either side of the cells
        lefts.append(right + max(words + _GAP, beside))
        right = lefts[-1] + width + beside + 2 * _GAP
    height = cell * max(alignment.weights.shape[0] for alignment in alignments)
    figure = Figure(figsize=(right, height))
    panels = []
    for alignment, left in zip(alignments, lefts, strict=True):
        T, S = alignment.weights.shape
        bottom = 1 - T * cell / height
        panels.append(figure.add_axes((left / right, bottom, S * cell / right, 1 - bottom)))
    return figure, panels


def _show(axes: Axes, weights: np.ndarray, colours: Colormap, right_to_left: bool, **options: Any) -> None:
    T, S = weights.shape
    axes.pcolormesh(weights, cmap=colours, vmin=0, vmax=1, **options)
    axes.set(xlim=(S, 0) if right_to_left else (0, S), ylim=(T, 0))


def _name(axes: Axes, sources: Sequence[str], targets: Sequence[str], size: float) -> None:
    """Write the words at the top and at the left; those at the top upright if they fit."""
    labels = [label(word) for word in sources]
    box = axes.get_window_extent()
    pitch = box.width / axes.figure.dpi / max(len(labels), 1)
    rotated = any(width > 0.92 * pitch for width, _ in text_sizes(labels, size))
    axes.tick_params(length=0, pad=3)
    axes.xaxis.tick_top()
    columns, rows = (np.arange(len(words)) + 0.5 for words in (sources, targets))
    axes.set_xticks(columns, labels, rotation=90 if rotated else 0, fontsize=size, parse_math=False)
    axes.set_yticks(rows, [label(word) for word in targets], fontsize=size, parse_math=False)


def _frame(axes: Axes, gold: Gold | None) -> None:
    for source, target in () if gold is None else sorted(gold.sure | gold.possible):
        style = "solid" if gold and (source, target) in gold.sure else (0, (2, 1.5))
        corner = (source + 0.06, target + 0.06)
        axes.add_patch(Rectangle(corner, 0.88, 0.88, fill=False, edgecolor=_MARKED,
                                 linewidth=1.4, linestyle=style))  # fmt: skip


def _write_values(axes: Axes, weights: np.ndarray, colours: Colormap, size: float) -> None:
    for (target, source), weight in np.ndenumerate(weights):
        red, green, blue, _ = colours(float(weight))
        colour = "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 0.5 else "black"
        axes.text(source + 0.5, target + 0.5, f"{weight:.2f}", ha="center", va="center",
                  fontsize=size, color=colour)  # fmt: skip


def _draw_scale(figure: Figure, panels: Iterable[Axes], colours: Colormap, size: float) -> None:
    """The scale of the weights, at the right of all panels."""
    width, height = figure.get_size_inches()
    right = max(axes.get_position().x1 for axes in panels) + 3 * _GAP / width
    tall = min(1.0, _BAR_HEIGHT / height)
    bar = figure.add_axes((right, 1 - tall, _BAR_WIDTH / width, tall))
    figure.colorbar(ScalarMappable(Normalize(0, 1), colours), cax=bar, ticks=[0, 0.5, 1])
    bar.tick_params(labelsize=size, length=2)
    bar.set_ylabel("weight", fontsize=size)
