"""Plots: the curves of a training run, and the statistics of a corpus of alignments."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from translate.errors import UserError
from translate.figures.corpus_statistics import MOST_FERTILE, NUM_OFFSETS, CorpusStatistics, WordMean
from translate.figures.figure import check_extension, drawing, save
from translate.figures.matrix import label

_COLOUR, _QUIET = "#3346b8", "0.45"
_MOST_BARS = 10  # words at each end of a ranking
_FONT = 7.5  # points
_SIZE = (7.6, 6.2)  # inches
_CURVES = (("nll", "negative log-likelihood"), ("bleu", "BLEU"), ("aer", "AER"))


def draw_curves(rows: Sequence[Mapping[str, Any]], path: Path) -> Path:
    """Draw the rows of ``metrics.jsonl``, with a panel for each score that the run measured."""
    trained = [row for row in rows if row["kind"] == "train" and "nll" in row]
    validated = [row for row in rows if row["kind"] == "validation"]
    panels = [(key, title) for key, title in _CURVES if key == "nll" or any(key in row for row in validated)]
    figure = Figure(figsize=(4.2 * len(panels), 3.2), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, (key, title) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        if key == "nll":
            axes.plot([row["step"] for row in trained], [row["nll"] for row in trained], label="training")
            pairs = [(row["step"], row["nll"]) for row in validated]
            axes.plot([x for x, _ in pairs], [y for _, y in pairs], marker="o", label="validation")
            axes.set_ylabel("nats a token")
            axes.legend(frameon=False)
        else:
            scale = 100 if key == "aer" else 1
            pairs = [(row["step"], scale * row[key]) for row in validated if key in row]
            axes.plot([x for x, _ in pairs], [y for _, y in pairs], marker="o", color="C1")
            axes.set_ylabel("%" if key == "aer" else "")
        axes.set_title(title)
        axes.set_xlabel("optimizer step")
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120, metadata={"Software": None})
    return path


def draw_corpus(statistics: CorpusStatistics, path: str | Path, *, least: int | None = None) -> Path:
    """Draw distance from the diagonal, entropy by word and fertility, in one picture.

    Args:
        path: the picture, png, pdf or svg by extension; missing folders are created.
        least: how often a word must occur to be listed; by default once in 1,000 words, but at least 5 times.
    Returns:
        The path.
    Raises:
        UserError: for another extension, if no word is aligned, or if the path cannot be written.
    """
    path = check_extension(path)
    if not statistics.num_words:
        raise UserError(f"{path}: nothing to draw: no target word is aligned")
    if least is None:
        least = max(5, round(statistics.num_words / 1000))
    entropies, fertility = statistics.entropies.means(least), statistics.fertility.means(least)
    with drawing(label(mean.word) for mean in (*entropies, *fertility)):
        figure = Figure(figsize=_SIZE, layout="constrained")
        FigureCanvasAgg(figure)
        figure.suptitle(
            f"{statistics.num_pairs:,} pairs, {statistics.num_words:,} aligned target words",
            fontsize=_FONT + 2,
        )
        (upper_left, upper_right), (lower_left, lower_right) = figure.subplots(2, 2)
        _draw_offsets(upper_left, statistics)
        title = f"entropy by target word: mean {statistics.mean_entropy:.2f} bits (dashed)"
        _draw_ranking(
            upper_right, entropies, title, "bits", "target word, occurrences", statistics.mean_entropy
        )
        _draw_fertilities(lower_left, statistics)
        title = f"fertility by source word: mean {statistics.mean_fertility:.2f} (dashed)"
        name = "target words linked to a source word"
        _draw_ranking(
            lower_right, fertility, title, name, "source word, occurrences", statistics.mean_fertility
        )
        save(figure, path)
    return path


def _draw_offsets(axes: Axes, statistics: CorpusStatistics) -> None:
    edges = np.linspace(-1, 1, NUM_OFFSETS + 1)
    axes.stairs(statistics.offsets / statistics.num_words, edges, fill=True, color=_COLOUR)
    axes.axvline(0, color=_QUIET, linewidth=0.8, linestyle="--")
    _name(axes, "source position - target position, as a fraction of the sentence", "share of the weight")
    title = f"distance from the diagonal: mean {statistics.mean_distance:.3f}"
    axes.set_title(title, fontsize=_FONT + 1)


def _draw_fertilities(axes: Axes, statistics: CorpusStatistics) -> None:
    shares = statistics.fertilities / statistics.fertilities.sum()
    bars = axes.bar(np.arange(MOST_FERTILE + 1), shares, color=_COLOUR)
    axes.bar_label(bars, [f"{100 * share:.1f} %" for share in shares], fontsize=_FONT - 1, padding=1)
    axes.set_xticks(range(MOST_FERTILE + 1), [*map(str, range(MOST_FERTILE)), f"{MOST_FERTILE}+"])
    _name(axes, "target words linked to a source word", "share of the source words")
    axes.set_title("fertility", fontsize=_FONT + 1)


def _draw_ranking(
    axes: Axes, means: Sequence[WordMean], title: str, name: str, words: str, mean: float
) -> None:
    """Bars for the words with the largest means, and below a gap for those with the smallest."""
    ends = list(means) if len(means) <= 2 * _MOST_BARS else [*means[:_MOST_BARS], *means[-_MOST_BARS:]]
    heights = np.arange(len(ends), dtype=float)
    if len(ends) < len(means):
        heights[_MOST_BARS:] += 1
        axes.text(0, _MOST_BARS, "  ⋮", va="center", fontsize=_FONT, color=_QUIET)
    axes.barh(heights, [word.mean for word in ends], color=_COLOUR)
    axes.axvline(mean, color=_QUIET, linewidth=0.8, linestyle="--")
    axes.set_yticks(heights, [f"{label(word.word)}  {word.count:,}" for word in ends], parse_math=False)
    axes.invert_yaxis()
    _name(axes, name, words)
    axes.set_title(title, fontsize=_FONT + 1)


def _name(axes: Axes, x_name: str, y_name: str) -> None:
    axes.set_xlabel(x_name, fontsize=_FONT)
    axes.set_ylabel(y_name, fontsize=_FONT)
    axes.tick_params(labelsize=_FONT - 1)
    axes.spines[["top", "right"]].set_visible(False)
