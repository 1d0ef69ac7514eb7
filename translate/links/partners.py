"""What tells a translation from another sentence: words that find a partner, how surely, and runs without.

Only a few of the possible links of a pair join words that met in the sample, so those are found first, by
hashed words in a small table; everything else is counted word by word.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from translate.links.hidden_markov import NULL_PROBABILITY

PARTNER = 0.01  # a word has a partner if a word of the other side gives it at least this probability ...
LIFT = 4.0  # ... and this many times the probability that it has by itself
DOUBT = 3.0  # occurrences
BENEFIT = 8.0  # of the doubt, as much as two common words weigh
SAME_RATIO = 3.0  # log ratio of probabilities of an unknown word that stands on both sides
HASH_BITS = 22  # of the table of words that met, a byte each
PART_CELLS = 1 << 17  # possible links that are looked at together
_EXACT = 1e6  # weights are counted in millionths, whose sums do not depend on the pairs before


class Frozen(NamedTuple):
    """The parameters of one direction, which generates the words of one side given those of the other."""

    table: np.ndarray  # (entries,) p(generated word | given word)
    null: np.ndarray  # (words,) p(word | NULL)
    counts: np.ndarray  # (words,) how often the sample had the word
    jumps: np.ndarray  # (2 * MAX_JUMP + 1,) counts
    p0: np.ndarray  # () probability of NULL


class Numbered(NamedTuple):
    """The words of one side of many pairs, one pair after the other."""

    numbers: np.ndarray  # int64, of each word; negative for one that is not known, equal for equal words
    lengths: np.ndarray  # int64, words of each pair

    def part(self, pairs: slice, begins: np.ndarray) -> "Numbered":
        """The words of some pairs; ``begins`` says where those of each pair begin, and where all end."""
        return Numbered(self.numbers[begins[pairs.start] : begins[pairs.stop]], self.lengths[pairs])


class _Side(NamedTuple):
    """What the words of a side weigh by themselves; the last value is of a word that is not known."""

    probability: np.ndarray
    trust: np.ndarray
    weight: np.ndarray
    rarest: float  # weight of a word that stands on both sides but is not known
    hashed: np.ndarray  # int32

    @classmethod
    def of(cls, direction: Frozen, seed: int) -> "_Side":
        alone = (direction.counts + 0.5) / (direction.counts + 0.5).sum()
        probability = np.append(alone, 1.0)
        trust = np.append(direction.counts / (direction.counts + DOUBT), 0.0)
        hashed = np.random.default_rng(seed).integers(0, 1 << HASH_BITS, len(probability), np.int32)
        return cls(probability, trust, -np.log(probability) * trust, float(-np.log(alone.min())), hashed)


class Evidence:
    """Counts evidence by parameters that do not change.

    Args:
        keys: (entries,) source word and target word of each entry of the tables, in ascending order.
        there: generates the target.
        back: generates the source.
    """

    def __init__(self, keys: np.ndarray, there: Frozen, back: Frozen) -> None:
        self.keys, self.directions = keys, (back, there)
        self.sides = _Side.of(back, 1), _Side.of(there, 2)
        self.present = np.zeros(1 << HASH_BITS, bool)
        self.present[self.sides[0].hashed[keys >> 32] ^ self.sides[1].hashed[keys & 0xFFFFFFFF]] = True

    def __call__(self, sources: Numbered, targets: Numbered) -> np.ndarray:
        """Three values for each side of each pair, as :meth:`FrozenAligner.evidence` tells: (N, 6)."""
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
        """Where the words that met in the sample stand, and their entries of the tables."""
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
        wanted = s << 32 | t
        entry = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        met = (self.keys[entry] == wanted) & (s >= 0) & (t >= 0)
        return (first[met], second[met]), entry[met]


def _parts(cells: np.ndarray) -> Iterator[slice]:
    """Parts of a corpus of about `PART_CELLS` possible links each."""
    ends = np.cumsum(cells)
    begin = 0
    while begin < len(cells):
        before = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + PART_CELLS, side="right")))
        yield slice(begin, end)
        begin = end


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
