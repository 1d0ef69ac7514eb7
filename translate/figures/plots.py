"""Plots: the curves of a training run, and the statistics of the alignments of a corpus."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from translate.errors import UserError
from translate.figures.figure import check_extension, drawing, save
from translate.figures.matrix import WordMatrix, label

NUM_OFFSETS = 41  # bins from -1 to 1 of the distance between a weight and the diagonal
MOST_FERTILE = 6  # words; the last bin of fertilities also holds those above


@dataclass(frozen=True)
class WordMean:
    """A word with its number of occurrences and the mean of its values."""

    word: str
    count: int
    mean: float


class _Sums:
    """Number and sum of the values of each word."""

    def __init__(self) -> None:
        self._words: dict[str, tuple[int, float]] = {}

    def add(self, words: Iterable[str], values: Iterable[float]) -> None:
        for word, value in zip(words, values, strict=True):
            count, total = self._words.get(word, (0, 0.0))
            self._words[word] = count + 1, total + value

    def means(self, least: int) -> list[WordMean]:
        """Words that occur at least `least` times, sorted by falling mean, then falling count, then word."""
        means = [WordMean(word, n, total / n) for word, (n, total) in self._words.items() if n >= least]
        return sorted(means, key=lambda word: (-word.mean, -word.count, word.word))


class CorpusStatistics:
    """Running sums over alignments; the alignments themselves are not kept.

    Attributes:
        num_pairs, num_empty: pairs with words on both sides, and other pairs.
        num_words, num_unaligned: target words with weights, and those without, which no other sum includes.
        offsets: (NUM_OFFSETS,) total weight by (s + 1/2) / S - (t + 1/2) / T, from -1 to 1.
        distance: sum of weights times the absolute value of that offset; see `mean_distance`.
        num_source_words, num_links: their quotient is the mean fertility.
        fertilities: (MOST_FERTILE + 1,) number of source words by the number of target words linked to them.
        entropies, fertility: by word; use `means`.
    """

    def __init__(self) -> None:
        self.num_pairs = self.num_empty = self.num_words = self.num_unaligned = 0
        self.num_source_words = self.num_links = 0
        self.offsets = np.zeros(NUM_OFFSETS)
        self.distance = 0.0
        self.entropy = 0.0
        self.fertilities = np.zeros(MOST_FERTILE + 1, dtype=np.int64)
        self.entropies, self.fertility = _Sums(), _Sums()

    def add(self, alignment: WordMatrix) -> None:
        """Add the alignment of a sentence pair to all sums."""
        weights = alignment.weights.astype(np.float64)
        T, S = weights.shape
        if not weights.size:
            self.num_empty += 1
            return
        self.num_pairs += 1
        aligned = np.asarray(weights.any(axis=1))
        self.num_words += int(aligned.sum())
        self.num_unaligned += T - int(aligned.sum())
        offsets = (np.arange(S) + 0.5) / S - ((np.arange(T) + 0.5) / T)[:, None]  # (T, S) in (-1, 1)
        bins = ((offsets + 1) / 2 * NUM_OFFSETS).astype(np.int64)
        self.offsets += np.bincount(bins.ravel(), weights=weights.ravel(), minlength=NUM_OFFSETS)
        self.distance += float((weights * np.abs(offsets)).sum())
        logarithms = np.log2(weights, where=weights > 0, out=np.zeros_like(weights))
        entropies = -(weights * logarithms).sum(axis=1)[aligned]  # bits
        self.entropy += float(entropies.sum())
        words = [word for word, known in zip(alignment.target_words, aligned.tolist(), strict=True) if known]
        self.entropies.add(words, entropies.tolist())
        counts = np.bincount([source for source, _ in alignment.links()], minlength=S)
        self.num_source_words += S
        self.num_links += int(counts.sum())
        self.fertilities += np.bincount(np.minimum(counts, MOST_FERTILE), minlength=MOST_FERTILE + 1)
        self.fertility.add(alignment.source_words, counts.tolist())

    @property
    def mean_distance(self) -> float:
        """Mean distance from the diagonal, in sentence lengths: 0 if no word moves, 1/3 for random order."""
        return self.distance / max(self.num_words, 1)

    @property
    def mean_entropy(self) -> float:
        """Mean entropy of a target word's row, in bits."""
        return self.entropy / max(self.num_words, 1)

    @property
    def mean_fertility(self) -> float:
        """Mean number of target words linked to a source word."""
        return self.num_links / max(self.num_source_words, 1)


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
    """Draw distance from the diagonal, entropy by word and fertility, in one figure.

    Args:
        path: the figure, png, pdf or svg by extension; missing folders are created.
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
