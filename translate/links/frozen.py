"""A statistical aligner that has learnt from a sample and learns no more, for corpora of any size.

Every pair is judged by itself, by parameters that never change, so that parts of a corpus can be aligned
anywhere and in any order with the same result.
"""

from collections.abc import Iterable, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any
from zipfile import BadZipFile
from zlib import crc32

import numpy as np

from translate.errors import UserError
from translate.links.hidden_markov import forward_backward
from translate.links.links import Links
from translate.links.partners import Evidence, Frozen, Numbered
from translate.links.statistical import (
    HMM_ROUNDS,
    LINK_PROBABILITY,
    KnownLinks,
    LearntDirection,
    by_pair,
    learn,
    of_equal_lengths,
)
from translate.links.symmetrise import symmetrise

MIN_PROBABILITY = 1e-3  # of an entry that is kept, in one of the directions
_UNSEEN = 1e-7  # probability of two known words that never met in the sample
_SAME = 0.5  # of an unknown word that stands on both sides, such as a name
_UNKNOWN = -(1 << 40)  # below all numbers of words
_TIE = 1e-6  # above LINK_PROBABILITY: of two equal candidates neither is a link, however sums are rounded

Words = Sequence[Sequence[str]]


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
    keys = learnt.sides[0][keep].astype(np.int64) << 32 | learnt.sides[1][keep]

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
        self._evidence = Evidence(keys, there, back)

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
        return self.evidence_of(self.numbered(0, sources), self.numbered(1, targets))

    def evidence_of(self, sources: Numbered, targets: Numbered) -> np.ndarray:
        """The same, of words by their numbers."""
        return self._evidence(sources, targets)

    def numbered(self, side: int, lines: Words) -> Numbered:
        """The words of a side by their numbers."""
        lengths = np.fromiter(map(len, lines), np.int64, len(lines))
        return Numbered(self._numbers(side, lines), lengths)

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
        found = np.fromiter(map(types.get, flat, repeat(_UNKNOWN)), np.int64, len(flat))
        for place in np.flatnonzero(found == _UNKNOWN).tolist():
            found[place] = -1 - crc32(flat[place].encode())
        return found

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
