"""What the alignments of a whole corpus look like: distance from the diagonal, entropy, fertility."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from translate.pictures.matrix import WordMatrix

NUM_OFFSETS = 41  # bins from -1 to 1: how far a weight lies from the diagonal
MOST_FERTILE = 6  # words; what is above is counted with these


@dataclass(frozen=True)
class WordMean:
    """A word as it is written, how often it occurs, and the mean of its values."""

    word: str
    count: int
    mean: float


class _Sums:
    """Count and sum of a value for every word."""

    def __init__(self) -> None:
        self._words: dict[str, tuple[int, float]] = {}

    def add(self, words: Iterable[str], values: Iterable[float]) -> None:
        for word, value in zip(words, values, strict=True):
            count, total = self._words.get(word, (0, 0.0))
            self._words[word] = count + 1, total + value

    def means(self, least: int) -> list[WordMean]:
        """Words that occur so often, largest mean first; of equals the more frequent, then by letter."""
        found = [WordMean(word, n, total / n) for word, (n, total) in self._words.items() if n >= least]
        return sorted(found, key=lambda each: (-each.mean, -each.count, each.word))


class CorpusStatistics:
    """Sums over alignments, as they come; nothing of a pair is kept.

    Attributes:
        num_pairs: that have words on both sides; others are counted in `num_empty`.
        num_unaligned: target words whose row is zero; they count nowhere else.
        offsets: (NUM_OFFSETS,) weight by (s + 1/2) / S - (t + 1/2) / T, from -1 to 1, of all target words.
        distance: sum of weight times the absolute value of that; see `mean_distance`.
        num_source_words, num_links: a target word has one link at most, unless the threshold allows more.
        fertilities: (MOST_FERTILE + 1,) source words by the number of target words linked to them.
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
        """Take in one pair."""
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
        """From the diagonal, as a fraction of the sentence: 0 for word for word, 1/3 for no order at all."""
        return self.distance / max(self.num_words, 1)

    @property
    def mean_entropy(self) -> float:
        """Of a target word's row, in bits."""
        return self.entropy / max(self.num_words, 1)

    @property
    def mean_fertility(self) -> float:
        """Target words linked to a source word."""
        return self.num_links / max(self.num_source_words, 1)
