"""Statistics of the alignments of a corpus: distance from the diagonal, entropy, fertility."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from translate.figures.matrix import WordMatrix

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
        """Add one pair."""
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
