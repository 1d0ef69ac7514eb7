"""Heatmaps of alignments, with the source across the top: Bahdanau et al. 2015, figure 3."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from translate.errors import UserError
from translate.figures.figure import check_extension, drawing, find_colour_map, save, text_sizes
from translate.figures.matrix import WordMatrix, is_right_to_left, label
from translate.links.links import Gold

_GOLD = "tab:orange"
_MARGIN = 0.12  # inches, as all lengths here
_GAP = 0.06  # between labels and cells
_BAR_WIDTH, _BAR_HEIGHT, _BAR_LABELS = 0.13, 2.4, 0.55
_LONGEST_TITLE = 80  # characters


@dataclass(frozen=True)
class _Panel:
    """One alignment with its measures in inches."""

    alignment: WordMatrix
    title: str
    gold: Gold | None
    source_labels: list[str]
    target_labels: list[str]
    rotated: bool
    label_width: float  # of the widest target label
    label_height: float  # of the source labels, as rotated
    caption_width: float  # the larger one of title and method
    cell: float  # side of a cell

    @property
    def width(self) -> float:
        return self.alignment.weights.shape[1] * self.cell

    @property
    def height(self) -> float:
        return self.alignment.weights.shape[0] * self.cell


def draw(
    alignments: Sequence[WordMatrix],
    path: str | Path,
    *,
    titles: Sequence[str] | None = None,
    values: bool = False,
    gold: Sequence[Gold | None] | None = None,
    colour_map: str = "gray",
    breaks: Sequence[Sequence[int]] | None = None,
) -> Path:
    """Draw alignments side by side on one scale from 0 to 1, with title and method above each.

    Args:
        path: the picture, png, pdf or svg by extension; missing folders are created.
        titles: one for each alignment.
        values: write each weight into its cell.
        gold: links for each alignment; sure links get a solid frame, possible links a dashed one.
        colour_map: name of a matplotlib colour map, such as gray, gray_r or viridis.
        breaks: for each alignment, source words before which a line is drawn, as where sentences begin.
    Returns:
        The path.
    Raises:
        UserError: for another extension, an unknown colour map, an alignment without words, or a path that
            cannot be written.
        ValueError: if there are no alignments, if titles or gold have another number, or for a gold link
            outside the words.
    """
    path = check_extension(path)
    if not alignments:
        raise ValueError("no alignment to draw")
    for name, given in (("titles", titles), ("gold", gold), ("breaks", breaks)):
        if given is not None and len(given) != len(alignments):
            raise ValueError(f"{len(given)} {name} for {len(alignments)} alignments")
    for alignment in alignments:
        if alignment.weights.size == 0:
            raise UserError(
                f"{path}: nothing to draw: {len(alignment.source_words)} source and "
                f"{len(alignment.target_words)} target words"
            )
    for alignment, links in zip(alignments, gold or ()):
        _check_links(alignment, links)
    colours = find_colour_map(colour_map)
    titles = [""] * len(alignments) if titles is None else [label(title, _LONGEST_TITLE) for title in titles]
    words = [label(word) for one in alignments for word in (*one.source_words, *one.target_words)]
    with drawing([*words, *titles, *(one.method for one in alignments)]):
        cell, font_size = _cell_size(alignments, values=values)
        panels = [
            _measure(one, title, one_gold, cell, font_size)
            for one, title, one_gold in zip(alignments, titles, gold or [None] * len(alignments), strict=True)
        ]
        at = breaks or [()] * len(panels)
        save(_compose(panels, at, font_size, colours, values=values), path)
    return path


def _check_links(alignment: WordMatrix, gold: Gold | None) -> None:
    T, S = alignment.weights.shape
    for source, target in () if gold is None else sorted(gold.sure | gold.possible):
        if not (0 <= source < S and 0 <= target < T):
            raise ValueError(f"gold link {source}-{target} lies outside {S} source and {T} target words")


def _cell_size(alignments: Sequence[WordMatrix], *, values: bool) -> tuple[float, float]:
    """Side of a cell in inches, and font size in points, both smaller for more words."""
    most = max(max(alignment.weights.shape) for alignment in alignments)
    cell = float(np.interp(most, [3, 10, 40], [0.5, 0.34, 0.2]))
    font_size = float(np.interp(most, [3, 10, 40], [11, 10, 8]))
    return (max(cell, 0.36) if values else cell), font_size


def _measure(alignment: WordMatrix, title: str, gold: Gold | None, cell: float, font_size: float) -> _Panel:
    source_labels = [label(word) for word in alignment.source_words]
    target_labels = [label(word) for word in alignment.target_words]
    source_sizes, target_sizes = text_sizes(source_labels, font_size), text_sizes(target_labels, font_size)
    rotated = max(width for width, _ in source_sizes) > 0.92 * cell
    return _Panel(
        alignment,
        title,
        gold,
        source_labels,
        target_labels,
        rotated,
        label_width=max(width for width, _ in target_sizes),
        label_height=max(size[0] if rotated else size[1] for size in source_sizes),
        caption_width=max(
            text_sizes([title], font_size + 1)[0][0], text_sizes([alignment.method], font_size - 1)[0][0]
        ),
        cell=cell,
    )


def _compose(
    panels: Sequence[_Panel],
    breaks: Sequence[Sequence[int]],
    font_size: float,
    colours: Colormap,
    *,
    values: bool,
) -> Figure:
    """Place the panels from left to right with their cells aligned at the top, then a colour bar."""
    title_height = 2.3 * font_size / 72 if any(panel.title for panel in panels) else 0.0
    method_height = 1.8 * font_size / 72 if any(panel.alignment.method for panel in panels) else 0.0
    caption_height = title_height + method_height
    top = _MARGIN + caption_height + max(panel.label_height for panel in panels) + _GAP
    tallest = max(panel.height for panel in panels)
    lefts, right = [], _MARGIN
    for panel in panels:
        beside = (panel.caption_width - panel.width) / 2  # part of the caption on either side of the cells
        lefts.append(right + max(panel.label_width + _GAP, beside))
        right = lefts[-1] + panel.width + max(beside, 0.0) + 2 * _MARGIN
    width, height = right + _BAR_WIDTH + _BAR_LABELS + _MARGIN, top + tallest + _MARGIN
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)

    def add_axes(left: float, box_width: float, box_height: float) -> Axes:
        bottom = height - top - box_height
        return figure.add_axes((left / width, bottom / height, box_width / width, box_height / height))

    for panel, at, left in zip(panels, breaks, lefts, strict=True):
        axes = add_axes(left, panel.width, panel.height)
        _draw_cells(axes, panel, colours, font_size, values=values)
        for column in at:
            axes.axvline(column, color=_GOLD, linewidth=1.2)
        for text, size, base in (
            (panel.title, font_size + 1, 0.5 * title_height),
            (panel.alignment.method, font_size - 1, title_height + 0.45 * method_height),
        ):
            centre, y = (left + panel.width / 2) / width, 1 - (_MARGIN + base) / height
            figure.text(centre, y, text, ha="center", fontsize=size, parse_math=False)
    bar = add_axes(right, _BAR_WIDTH, min(tallest, _BAR_HEIGHT))
    figure.colorbar(ScalarMappable(Normalize(0, 1), colours), cax=bar, ticks=[0, 0.5, 1])
    bar.tick_params(labelsize=font_size - 1, length=2)
    bar.set_ylabel("weight", fontsize=font_size - 1)
    return figure


def _draw_cells(axes: Axes, panel: _Panel, colours: Colormap, font_size: float, *, values: bool) -> None:
    weights = panel.alignment.weights
    T, S = weights.shape
    background = np.array(colours(0.0)[:3])
    grid = tuple(background + 0.45 * (0.5 - background))  # visible, but fainter than a weight worth seeing
    axes.pcolormesh(weights, cmap=colours, vmin=0, vmax=1, edgecolors=grid, linewidth=0.4)
    right_to_left = is_right_to_left(panel.alignment.source_words)
    axes.set(xlim=(S, 0) if right_to_left else (0, S), ylim=(T, 0))
    axes.tick_params(length=0, pad=_GAP * 72)
    axes.xaxis.tick_top()
    axes.set_xticks(np.arange(S) + 0.5)
    axes.set_yticks(np.arange(T) + 0.5)
    axes.set_xticklabels(
        panel.source_labels, rotation=90 if panel.rotated else 0, fontsize=font_size, parse_math=False
    )
    axes.set_yticklabels(panel.target_labels, fontsize=font_size, parse_math=False)
    if panel.gold is not None:
        for source, target in sorted(panel.gold.sure | panel.gold.possible):
            style = "solid" if (source, target) in panel.gold.sure else (0, (2, 1.5))
            corner = (source + 0.06, target + 0.06)
            axes.add_patch(
                Rectangle(corner, 0.88, 0.88, fill=False, edgecolor=_GOLD, linewidth=1.4, linestyle=style)
            )
    if values:
        for (target, source), weight in np.ndenumerate(weights):
            red, green, blue, _ = colours(float(weight))
            dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
            axes.text(
                source + 0.5, target + 0.5, f"{weight:.2f}", ha="center", va="center",
                fontsize=7.5, color="white" if dark else "black",
            )  # fmt: skip
