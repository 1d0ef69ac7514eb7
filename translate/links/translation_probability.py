"""Estimates how likely the sides of a pair are translations, from the words that an aligner links.

:class:`Evidence` finds the words with a partner on the other side, how surely, and runs of words without.
Logistic regression tells pairs of a sample from wrong ones: the same sources beside translations of other
sentences of about the same length, and pairs of which one side is cut. So nobody has to say what is right,
and no model of another corpus is needed. (Munteanu and Marcu 2005 judge pairs by links like this, from known
examples; Xu and Koehn 2017 make the wrong ones from good ones.)
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise, starmap
from pathlib import Path
from typing import NamedTuple

import numpy as np

from translate.links.fixed_aligner import FixedAligner, FixedDirection, Numbered
from translate.links.hidden_markov import NULL_PROBABILITY
from translate.links.statistical import Words

Pair = tuple[Sequence[str], Sequence[str]]

PARTNER = 0.01  # a word has a partner if a word of the other side gives it at least this probability ...
LIFT = 4.0  # ... and this many times the probability that it has by itself
DOUBT = 3.0  # occurrences
BENEFIT = 8.0  # of the doubt, as much as two common words weigh
SAME_RATIO = 3.0  # log ratio of probabilities of an unknown word that stands on both sides
HASH_BITS = 22  # of the table of words that met, a byte each
PART_CELLS = 1 << 17  # possible links that are looked at together
_EXACT = 1e6  # weights are counted in millionths, whose sums do not depend on the pairs before
KEPT = 1 / 3, 2 / 3  # of a side that is cut
LEAST_CUT = 6  # words of a side that is cut
LEAST_PAIRS = 500  # of a sample that can tell
ROUNDS, PENALTY = 25, 1e-4  # of Newton's method, which has converged by then; of the squared weights


class _Side(NamedTuple):
    """The weights of the words of a side by themselves; the last one is of a word that is not known."""

    probability: np.ndarray
    trust: np.ndarray
    weight: np.ndarray
    rarest: float  # weight of a word that stands on both sides but is not known
    hashed: np.ndarray  # int32

    @classmethod
    def of(cls, direction: FixedDirection, seed: int) -> "_Side":
        alone = (direction.counts + 0.5) / (direction.counts + 0.5).sum()
        probability = np.append(alone, 1.0)
        trust = np.append(direction.counts / (direction.counts + DOUBT), 0.0)
        hashed = np.random.default_rng(seed).integers(0, 1 << HASH_BITS, len(probability), np.int32)
        return cls(probability, trust, -np.log(probability) * trust, float(-np.log(alone.min())), hashed)


class Evidence:
    """Tells translations from other sentences, by an aligner's parameters: three values for both sides.

    First comes the coverage: the share of the words that find a partner on the other side. A word that the
    sample had c times weighs -log p(word) c / (c + `DOUBT`): rare words say more, but the sample does not
    know every translation of very rare ones. A word that the sample did not have counts only if it stands on
    both sides. `BENEFIT` is added to what is linked, and to the total, so that a short pair needs more
    evidence against it. Then comes the mean over the words that the sample had of log p(word | other side) /
    p(word), by IBM model 1 (Brown et al. 1993, eq. 6), c / (c + `DOUBT`) of it. Last comes the largest share
    of the weight in a run of words without partners, less twice the weight of words with partners inside it:
    it is large if a part of the side is not translated.

    Only a few of the possible links of a pair join words that met in the sample, so those are found first, by
    hashed words in a small table; everything else is counted word by word.
    """

    def __init__(self, aligner: FixedAligner) -> None:
        self.aligner, self.directions = aligner, (aligner.back, aligner.there)
        self.sides = _Side.of(aligner.back, 1), _Side.of(aligner.there, 2)
        self.present = np.zeros(1 << HASH_BITS, bool)
        hashed = self.sides[0].hashed[aligner.keys >> 32] ^ self.sides[1].hashed[aligner.keys & 0xFFFFFFFF]
        self.present[hashed] = True

    def of_words(self, sources: Words, targets: Words) -> np.ndarray:
        """The evidence of pairs: (N, 6), both sides of each value in turn."""
        return self(self.aligner.numbered(0, sources), self.aligner.numbered(1, targets))

    def __call__(self, sources: Numbered, targets: Numbered) -> np.ndarray:
        """The same, of words by their numbers."""
        result = np.ones((len(sources.lengths), 6))
        result[:, 2:] = 0.0
        begins = [np.append(0, np.cumsum(side.lengths)) for side in (sources, targets)]
        for pairs in _parts(sources.lengths * targets.lengths):
            result[pairs] = self._of_part(sources.part(pairs, begins[0]), targets.part(pairs, begins[1]))
        return result

    def _of_part(self, *sides: Numbered) -> np.ndarray:
        places, entries = self._meetings(*sides)
        same = _on_both(*sides)
        result = np.empty((len(sides[0].lengths), 6))
        for side, (direction, known) in enumerate(zip(self.directions, self.sides)):
            words, lengths = sides[side]
            owner = np.repeat(np.arange(len(lengths)), lengths)
            known_words = np.where(words < 0, -1, words)
            probability, trust = known.probability[known_words], known.trust[known_words]
            weights = known.weight[known_words]
            chance, place = direction.table[entries], places[side]
            found = same[side]
            found[place[(chance >= PARTNER) & (chance >= LIFT * probability[place])]] = True
            weights[(words < 0) & found] = known.rarest
            total = np.bincount(owner, weights, len(lengths)) + BENEFIT
            result[:, side] = (np.bincount(owner, weights * found, len(lengths)) + BENEFIT) / total
            others = np.repeat(np.maximum(sides[1 - side].lengths, 1), lengths)
            given = np.bincount(place, chance, len(words)) / others
            ratios = np.log((1 - NULL_PROBABILITY) * given / probability + NULL_PROBABILITY) * trust
            ratios[(words < 0) & found] = SAME_RATIO
            count = np.bincount(owner, (words >= 0) | found, len(lengths))
            result[:, 2 + side] = np.bincount(owner, ratios, len(lengths)) / (count + DOUBT)
            result[:, 4 + side] = _largest_gap(weights, found, owner, lengths) / total
        return result

    def _meetings(
        self, sources: Numbered, targets: Numbered
    ) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
        """The positions of the words that met in the sample, and their entries of the tables."""
        widths = np.repeat(targets.lengths, sources.lengths)  # possible links of each source word
        begins = np.repeat(np.cumsum(targets.lengths) - targets.lengths, sources.lengths)
        ends = np.cumsum(widths)
        shifts = (ends - widths - begins).astype(np.int32)
        second = np.arange(ends[-1] if len(ends) else 0, dtype=np.int32) - np.repeat(shifts, widths)
        hashed = [
            known.hashed[np.where(side.numbers < 0, -1, side.numbers)]
            for known, side in zip(self.sides, (sources, targets))
        ]
        maybe = np.flatnonzero(self.present[np.repeat(hashed[0], widths) ^ hashed[1][second]])
        first, second = np.searchsorted(ends, maybe, side="right"), second[maybe]
        s, t = sources.numbers[first], targets.numbers[second]
        entry = self.aligner.entries(s, t)
        met = (entry >= 0) & (s >= 0) & (t >= 0)
        return (first[met], second[met]), entry[met]


def _parts(cells: np.ndarray) -> Iterator[slice]:
    """Parts of a corpus of about `PART_CELLS` possible links each."""
    borders = np.flatnonzero(np.diff(np.cumsum(cells) // PART_CELLS)) + 1
    return starmap(slice, pairwise([0, *borders.tolist(), len(cells)]))


def _on_both(sources: Numbered, targets: Numbered) -> tuple[np.ndarray, np.ndarray]:
    """Whether each word of each side is one that is not known, and that stands on both sides."""
    keys = []
    for side in (sources, targets):
        owner = np.repeat(np.arange(len(side.lengths)), side.lengths)
        keys.append(np.where(side.numbers < 0, owner << 33 | -side.numbers, 0))
    one, other = keys
    both = np.intersect1d(one[one > 0], other[other > 0])
    return np.isin(one, both), np.isin(other, both)


def _largest_gap(
    weights: np.ndarray, found: np.ndarray, owner: np.ndarray, lengths: np.ndarray
) -> np.ndarray:
    """The largest sum of weights in a run of words of a sentence, where found words count -2 times."""
    values = np.rint(weights * np.where(found, -2, 1) * _EXACT).astype(np.int64)
    sums = np.concatenate([[0], np.cumsum(values)])
    begins = np.cumsum(lengths) - lengths
    before = sums[:-1] - np.repeat(sums[begins], lengths)  # in the sentence, before each word
    apart = owner << 40  # so that the least sum so far is of the same sentence
    least = np.minimum.accumulate(before - apart) + apart
    gaps = np.zeros(len(lengths), np.int64)
    np.maximum.at(gaps, owner, before + values - least)
    return gaps / _EXACT


class TranslationRegression(NamedTuple):
    """The regression: log-odds = sum of ``weights`` (value - ``mean``) / ``scale``.

    Attributes:
        middle: log-ratio of the lengths of a usual pair.
    """

    weights: np.ndarray  # (F,)
    mean: np.ndarray  # (F,)
    scale: np.ndarray  # (F,)
    middle: np.ndarray  # ()

    def probabilities(self, evidence: np.ndarray, lengths: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        """The probability that each pair is a translation, if half of all pairs were.

        Args:
            evidence: of :class:`Evidence`.
            lengths: the number of words of each side of the same pairs.
        """
        values = (_values(evidence, lengths, float(self.middle)) - self.mean) / self.scale
        odds = (values * self.weights).sum(1)  # a product of matrices would round in other ways
        return np.asarray(1 / (1 + np.exp(-np.clip(odds, -50, 50))))

    def save(self, path: Path) -> None:
        """Write the regression, without any code."""
        with path.open("wb") as file:
            np.savez(file, **self._asdict())

    @classmethod
    def load(cls, path: Path) -> "TranslationRegression":
        """Read a file of :meth:`save`."""
        with np.load(path, allow_pickle=False) as found:
            return cls(*(found[name] for name in cls._fields))


def learn_regression(evidence: Evidence, sources: Words, targets: Words) -> TranslationRegression | None:
    """A regression from good pairs that the aligner has not learnt from; ``None`` if they are too few.

    Pairs without words on both sides are left out.
    """
    pairs = [pair for pair in zip(sources, targets, strict=True) if all(pair)]
    if len(pairs) < LEAST_PAIRS:
        return None
    middle = float(np.median(_ratios(_lengths(pairs))))
    values = []
    for examples in (pairs, _shuffled(pairs), _cut(pairs)):
        sides = [source for source, _ in examples], [target for _, target in examples]
        values.append(_values(evidence.of_words(*sides), _lengths(examples), middle))
    found = np.concatenate(values)
    good = np.arange(len(found)) < len(pairs)
    # Good and wrong pairs weigh the same together.
    counts = np.where(good, 0.5 / good.sum(), 0.5 / (~good).sum())
    mean, scale = found.mean(0), found.std(0) + 1e-9
    mean[0], scale[0] = 0.0, 1.0  # the constant
    weights = _regression((found - mean) / scale, good.astype(float), counts)
    return TranslationRegression(weights, mean, scale, np.array(middle))


def _values(evidence: np.ndarray, lengths: tuple[np.ndarray, np.ndarray], middle: float) -> np.ndarray:
    """The values of a pair: evidence of the worse side and the better, lengths, and all products of two."""
    words = np.sqrt(lengths[0] + lengths[1] + 2.0) / 5
    apart = np.abs(_ratios(lengths) - middle)
    single = [words, apart, apart * words]
    for first in (0, 2, 4):
        sides = evidence[:, first : first + 2]
        single += [sides.min(1), sides.max(1)]
    products = [one * other for number, one in enumerate(single) for other in single[number:]]
    return np.stack([np.ones(len(evidence)), *single, *products], 1)


def _ratios(lengths: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    return np.log((lengths[1] + 2) / (lengths[0] + 2))


def _lengths(pairs: Sequence[Pair]) -> tuple[np.ndarray, np.ndarray]:
    found = np.array([[len(source), len(target)] for source, target in pairs], np.int64)
    return found[:, 0], found[:, 1]


def _shuffled(pairs: Sequence[Pair]) -> list[Pair]:
    """Each source with a translation of about the same length that is not its own."""
    order = sorted(pairs, key=lambda pair: len(pair[1]))
    others = zip(order, order[1:] + order[:1])
    return [(here[0], there[1]) for here, there in others if list(here[1]) != list(there[1])]


def _cut(pairs: Sequence[Pair]) -> list[Pair]:
    """Pairs of which one side ends early."""
    shares = np.random.default_rng(1).uniform(*KEPT, len(pairs)).tolist()
    found: list[Pair] = []
    for number, ((source, target), share) in enumerate(zip(pairs, shares)):
        side = (source, target)[number % 2]
        if len(side) >= LEAST_CUT:
            part = side[: int(share * len(side))]
            found.append((source, part) if number % 2 else (part, target))
    return found


def _regression(values: np.ndarray, wanted: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The weights of logistic regression, by Newton's method."""
    weights = np.zeros(values.shape[1])
    for _ in range(ROUNDS):
        odds = np.clip(values @ weights, -30, 30)
        likely = 1 / (1 + np.exp(-odds))
        slope = values.T @ (counts * (wanted - likely)) - PENALTY * weights
        curve = (values * (counts * likely * (1 - likely))[:, None]).T @ values
        weights = weights + np.linalg.solve(curve + PENALTY * np.eye(len(weights)), slope)
    return weights
