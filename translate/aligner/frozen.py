"""A statistical aligner that has learnt from a sample and learns no more, for corpora of any size.

Every pair is judged by itself, by parameters that never change, so that parts of a corpus can be aligned
anywhere and in any order with the same result.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile
from zlib import crc32

import numpy as np

from translate.aligner.hidden_markov import NULL_PROBABILITY, forward_backward
from translate.aligner.links import Links
from translate.aligner.statistical import (
    BLOCK_CELLS,
    HMM_ROUNDS,
    LINK_PROBABILITY,
    KnownLinks,
    LearntDirection,
    by_pair,
    learn,
    of_equal_lengths,
)
from translate.aligner.symmetrise import symmetrise
from translate.errors import UserError

MIN_PROBABILITY = 1e-3  # of an entry that is kept, in one of the directions
PARTNER = 0.01  # a word has a partner if a word of the other side gives it at least this probability ...
LIFT = 4.0  # ... and this many times the probability that it has by itself
DOUBT = 3.0  # occurrences
BENEFIT = 8.0  # of the doubt, as much as two common words weigh
SAME_RATIO = 3.0  # log ratio of probabilities of an unknown word that stands on both sides
_EXACT = 1e6  # weights are counted in millionths, whose sums do not depend on the pairs before
_UNSEEN = 1e-7  # probability of two known words that never met in the sample
_SAME = 0.5  # of an unknown word that stands on both sides, such as a name
_TIE = 1e-6  # above LINK_PROBABILITY: of two equal candidates neither is a link, however sums are rounded

Words = Sequence[Sequence[str]]


class Frozen(NamedTuple):
    """The parameters of one direction, which generates the words of one side given those of the other."""

    table: np.ndarray  # (entries,) p(generated word | given word)
    null: np.ndarray  # (words,) p(word | NULL)
    counts: np.ndarray  # (words,) how often the sample had the word
    jumps: np.ndarray  # (2 * MAX_JUMP + 1,) counts
    p0: np.ndarray  # () probability of NULL


def first_pairs(
    pairs: Iterable[tuple[Sequence[str], Sequence[str]]], most_links: int
) -> tuple[list[Sequence[str]], list[Sequence[str]]]:
    """The words of each side of the first pairs that have at most ``most_links`` possible links together."""
    sources, targets, possible = [], [], 0
    for source, target in pairs:
        possible += len(source) * len(target)
        if possible > most_links:
            break
        sources.append(source)
        targets.append(target)
    return sources, targets


def learn_frozen(
    sources: Words, targets: Words, *, hmm_rounds: int = HMM_ROUNDS, known: KnownLinks | None = None
) -> "FrozenAligner":
    """An aligner with parameters from a sample of pairs, and from pairs with ``known`` links.

    Raises:
        ValueError: if no pair has words.
    """
    learnt = learn(sources, targets, hmm_rounds=hmm_rounds, known=known)
    keep = (learnt.there.table >= MIN_PROBABILITY) | (learnt.back.table >= MIN_PROBABILITY)
    keys = (learnt.sides[0] << 32 | learnt.sides[1])[keep]

    def freeze(direction: LearntDirection, types: dict[str, int], lines: Words) -> Frozen:
        numbers = np.array([types[word] for line in lines for word in line if word in types], np.int64)
        counts = np.bincount(numbers, minlength=len(types))
        table = direction.table[keep].astype(np.float32)
        return Frozen(table, direction.null, counts, direction.jumps, np.array(direction.p0))

    there = freeze(learnt.there, learnt.types[1], targets)
    back = freeze(learnt.back, learnt.types[0], sources)
    return FrozenAligner((list(learnt.types[0]), list(learnt.types[1])), keys, there, back)


class FrozenAligner:
    """Links, and how many words find a partner, by parameters that do not change.

    Args:
        words: the known words of each side, by number.
        keys: (entries,) source word and target word of each entry of the tables, in ascending order.
        there: generates the target.
        back: generates the source.
    """

    def __init__(
        self, words: tuple[list[str], list[str]], keys: np.ndarray, there: Frozen, back: Frozen
    ) -> None:
        self.words, self.keys, self.there, self.back = words, keys, there, back
        self._types = [{word: number for number, word in enumerate(side)} for side in words]

    def coverage(self, sources: Words, targets: Words) -> np.ndarray:
        """The share of the words of each side that find a partner on the other: (N, 2).

        A word that the sample had c times weighs -log p(word) c / (c + `DOUBT`): rare words say more, but the
        sample does not know every translation of very rare ones. A word that the sample did not have counts
        only if it stands on both sides. `BENEFIT` is added to what is linked, and to the total, so that a
        short pair needs more evidence against it.
        """
        return self.evidence(sources, targets)[:, :2]

    def evidence(self, sources: Words, targets: Words) -> np.ndarray:
        """What tells a translation from another sentence, three values for each side: (N, 6).

        First the coverage of both sides. Then, for both sides, the mean over the words that the sample had of
        log p(word | other side) / p(word), by IBM model 1 (Brown et al. 1993, eq. 6), c / (c + `DOUBT`) of
        it. Last the largest share of the weight in a run of words without partners, less what words with
        partners inside it weigh, twice: it is large if a part of the side is not translated.
        """
        result = np.ones((len(sources), 6))
        result[:, 2:] = 0.0
        for part in _parts(sources, targets):
            result[part] = self._evidence(sources[part], targets[part])
        return result

    def _evidence(self, sources: Words, targets: Words) -> np.ndarray:
        numbers = [self._numbers(side, lines) for side, lines in enumerate((sources, targets))]
        lengths = [np.array([len(line) for line in lines], np.int64) for lines in (sources, targets)]
        at = _grid(*lengths)
        s, t = numbers[0][at[0]], numbers[1][at[1]]
        entry = np.full(len(s), -1, np.int64)
        known = (s >= 0) & (t >= 0)
        entry[known] = self._entries(s[known], t[known])
        met, same = entry >= 0, (s < 0) & (s == t)
        result = np.empty((len(sources), 6))
        for side, direction in enumerate((self.back, self.there)):
            words = numbers[side]
            owner = np.repeat(np.arange(len(sources)), lengths[side])
            alone = (direction.counts + 0.5) / (direction.counts + 0.5).sum()
            trust, probability = np.zeros(len(words)), np.ones(len(words))
            trust[words >= 0] = (direction.counts / (direction.counts + DOUBT))[words[words >= 0]]
            probability[words >= 0] = alone[words[words >= 0]]
            weights = -np.log(probability) * trust
            chance, place = direction.table[entry[met]], at[side][met]
            found = np.zeros(len(words), bool)
            found[place[(chance >= PARTNER) & (chance >= LIFT * probability[place])]] = True
            found[at[side][same]] = True
            weights[(words < 0) & found] = -np.log(alone.min())
            total = np.bincount(owner, weights, len(sources)) + BENEFIT
            result[:, side] = (np.bincount(owner, weights * found, len(sources)) + BENEFIT) / total
            given = np.bincount(place, chance, len(words)) / np.repeat(
                np.maximum(lengths[1 - side], 1), lengths[side]
            )
            ratios = np.log((1 - NULL_PROBABILITY) * given / probability + NULL_PROBABILITY) * trust
            ratios[(words < 0) & found] = SAME_RATIO
            count = np.bincount(owner, (words >= 0) | found, len(sources))
            result[:, 2 + side] = np.bincount(owner, ratios, len(sources)) / (count + DOUBT)
            result[:, 4 + side] = _largest_gap(weights, found, owner, lengths[side]) / total
        return result

    def links(self, sources: Words, targets: Words, *, method: str = "grow-diag-final-and") -> list[Links]:
        """Symmetrised links of each pair, by the hidden Markov models; a pair with an empty side has none."""
        result: list[Links] = [frozenset()] * len(sources)
        for pairs in of_equal_lengths(sources, targets):
            linked = self._linked([sources[pair] for pair in pairs], [targets[pair] for pair in pairs])
            for pair, forward, backward in zip(pairs, *map(by_pair, linked), strict=True):
                result[pair] = symmetrise(forward, backward, method)
        return result

    def _linked(self, sources: Words, targets: Words) -> list[np.ndarray]:
        """The links of each direction for pairs of equal lengths: two booleans (N, J, I)."""
        s = self._numbers(0, sources).reshape(len(sources), 1, -1)
        t = self._numbers(1, targets).reshape(len(targets), -1, 1)
        known = (s >= 0) & (t >= 0)
        entry = self._entries(*(np.broadcast_to(np.maximum(side, 0), known.shape) for side in (s, t)))
        same = (s < 0) & (s == t)
        found = []
        for side, (direction, generated) in enumerate(((self.there, t), (self.back, s))):
            unknown = 1.0 / len(direction.null)
            emission = np.where(entry >= 0, direction.table[np.maximum(entry, 0)], _UNSEEN).astype(np.float64)
            emission[~known] = unknown
            emission[same] = _SAME
            null = np.where(generated >= 0, direction.null[np.maximum(generated, 0)], unknown)
            if side:
                emission = emission.transpose(0, 2, 1)
            null = null.reshape(len(sources), -1)
            posteriors = forward_backward(emission, null, float(direction.p0), direction.jumps).links
            found.append((posteriors.transpose(0, 2, 1) if side else posteriors) > LINK_PROBABILITY + _TIE)
        return found

    def _numbers(self, side: int, lines: Words) -> np.ndarray:
        """The number of each word; a negative one for a word that is not known, equal for equal words."""
        types = self._types[side]
        flat = [word for line in lines for word in line]
        return np.array([types[w] if w in types else -1 - crc32(w.encode()) for w in flat], np.int64)

    def _entries(self, s: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Where two words stand in the tables; -1 if they never met."""
        wanted = s << 32 | t
        place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[place] == wanted, place, -1)

    def save(self, path: Path) -> None:
        """Write the parameters, without any code."""
        arrays: dict[str, Any] = {"keys": self.keys}
        for name, direction in (("there", self.there), ("back", self.back)):
            arrays |= {f"{name}_{field}": value for field, value in direction._asdict().items()}
        for name, words in zip(("source", "target"), self.words):
            arrays[f"{name}_words"] = np.frombuffer("\n".join(words).encode(), np.uint8)
        with path.open("wb") as file:
            np.savez(file, **arrays)

    @classmethod
    def load(cls, path: Path) -> "FrozenAligner":
        """Read a file of :meth:`save`; raises ``UserError`` if it is missing or damaged."""
        try:
            with np.load(path, allow_pickle=False) as found:
                source, target = (
                    found[f"{side}_words"].tobytes().decode().split("\n") for side in ("source", "target")
                )
                there, back = (
                    Frozen(*(found[f"{name}_{field}"] for field in Frozen._fields))
                    for name in ("there", "back")
                )
                return cls((source, target), found["keys"], there, back)
        except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
            raise UserError(f"{path}: no readable file of word links ({error})") from None


def _parts(sources: Words, targets: Words) -> Iterator[slice]:
    """Parts of a corpus of about `BLOCK_CELLS` possible links each."""
    begin = cells = 0
    for end, (source, target) in enumerate(zip(sources, targets, strict=True)):
        if cells > BLOCK_CELLS:
            yield slice(begin, end)
            begin, cells = end, 0
        cells += len(source) * len(target)
    if begin < len(sources):
        yield slice(begin, len(sources))


def _grid(lengths: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the words of every possible link stand in the texts of each side, pair after pair."""
    counts = lengths * others
    begins = np.repeat(np.cumsum(counts) - counts, counts)
    inside = np.arange(counts.sum()) - begins
    width = np.repeat(others, counts)
    first = np.repeat(np.cumsum(lengths) - lengths, counts)
    second = np.repeat(np.cumsum(others) - others, counts)
    return first + inside // width, second + inside % width


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
