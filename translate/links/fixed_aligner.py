"""A statistical aligner that has learnt from a sample and learns no more, for corpora of any size.

It links every pair by itself, with parameters that never change, so that parts of a corpus can be aligned
anywhere and in any order with the same result.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from translate.links.hidden_markov import forward_backward
from translate.links.links import Links
from translate.links.statistical import (
    HMM_ROUNDS,
    LINK_PROBABILITY,
    KnownLinks,
    Padded,
    Tables,
    Words,
    by_pair,
    of_similar_lengths,
    possible_cells,
    possible_links,
    trained,
)
from translate.links.symmetrise import symmetrise

MIN_PROBABILITY = 1e-3  # of an entry that is kept, in one of the directions
_UNSEEN = 1e-7  # probability of two known words that never met in the sample
_SAME = 0.5  # of an unknown word that stands on both sides, such as a name
_UNKNOWN = -(1 << 40)  # below all numbers of words
_TIE = 1e-6  # above LINK_PROBABILITY: of two equal candidates neither is a link, however sums are rounded


class FixedDirection(NamedTuple):
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


def learn_aligner(
    sources: Words, targets: Words, *, hmm_rounds: int = HMM_ROUNDS, known: KnownLinks | None = None
) -> "FixedAligner":
    """An aligner with parameters from a sample of pairs, and from pairs with ``known`` links.

    Raises:
        ValueError: if no pair has words.
    """
    possible = possible_links(sources, targets, known)
    if not possible.blocks:
        raise ValueError("no pair has words on both sides")
    there, back = trained(possible, hmm_rounds)
    keep = (there.table >= MIN_PROBABILITY) | (back.table >= MIN_PROBABILITY)
    keys = possible.sides[0][keep].astype(np.int64) << 32 | possible.sides[1][keep]

    def fixed(tables: Tables, types: dict[str, int], lines: Words) -> FixedDirection:
        numbers = np.array([types[word] for line in lines for word in line if word in types], np.int64)
        counts = np.bincount(numbers, minlength=len(types))
        table = tables.table[keep].astype(np.float32)
        return FixedDirection(table, tables.null, counts, tables.jumps, np.array(tables.p0))

    words = list(possible.types[0]), list(possible.types[1])
    sides = fixed(there, possible.types[1], targets), fixed(back, possible.types[0], sources)
    return FixedAligner(words, keys, *sides)


@dataclass(frozen=True, eq=False)
class FixedAligner:
    """Links words by parameters that do not change.

    Attributes:
        words: the known words of each side, by number.
        keys: (entries,) source word and target word of each entry of the tables, in ascending order.
        there: generates the target.
        back: generates the source.
    """

    words: tuple[list[str], list[str]]
    keys: np.ndarray
    there: FixedDirection
    back: FixedDirection

    @cached_property
    def _types(self) -> list[dict[str, int]]:
        return [{word: number for number, word in enumerate(side)} for side in self.words]

    def numbered(self, side: int, lines: Words) -> Numbered:
        """The words of a side, by their numbers."""
        flat = [word for line in lines for word in line]
        found = np.fromiter(map(self._types[side].get, flat, repeat(_UNKNOWN)), np.int64, len(flat))
        for place in np.flatnonzero(found == _UNKNOWN).tolist():
            found[place] = -1 - crc32(flat[place].encode())
        return Numbered(found, np.fromiter(map(len, lines), np.int64, len(lines)))

    def links(self, sources: Words, targets: Words, *, method: str = "grow-diag-final-and") -> list[Links]:
        """Symmetrised links of each pair, by the hidden Markov models; a pair with an empty side has none."""
        result: list[Links] = [frozenset()] * len(sources)
        for pairs in of_similar_lengths(sources, targets):
            linked = self._linked([sources[pair] for pair in pairs], [targets[pair] for pair in pairs])
            for pair, forward, backward in zip(pairs, *map(by_pair, linked), strict=True):
                result[pair] = symmetrise(forward, backward, method)
        return result

    def _linked(self, sources: Words, targets: Words) -> list[np.ndarray]:
        """The links of each direction for pairs of similar lengths: two booleans (N, J, I)."""
        sides = [Padded.of(*self.numbered(side, lines)) for side, lines in enumerate((sources, targets))]
        lengths = np.stack([side.within.sum(1) for side in sides])
        within, (source, target) = possible_cells(*sides), (side.numbers for side in sides)
        s, t = source[:, None, :], target[:, :, None]
        known = (s >= 0) & (t >= 0)
        entry = self.entries(*(np.broadcast_to(np.maximum(side, 0), known.shape) for side in (s, t)))
        same = (s < 0) & (s == t)
        found = []
        for side, (direction, generated) in enumerate(((self.there, target), (self.back, source))):
            unknown = 1.0 / len(direction.null)
            emission = np.where(entry >= 0, direction.table[np.maximum(entry, 0)], _UNSEEN).astype(np.float64)
            emission[~known] = unknown
            emission[same] = _SAME
            emission *= within
            null = np.where(generated >= 0, direction.null[np.maximum(generated, 0)], unknown)
            if side:
                emission, lengths = emission.transpose(0, 2, 1), lengths[::-1]
            posteriors = forward_backward(emission, null, float(direction.p0), direction.jumps, lengths).links
            found.append((posteriors.transpose(0, 2, 1) if side else posteriors) > LINK_PROBABILITY + _TIE)
        return found

    def entries(self, s: np.ndarray, t: np.ndarray) -> np.ndarray:
        """The entry of a source and a target word in the tables; -1 if they never met."""
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
    def load(cls, path: Path) -> "FixedAligner":
        """Read a file of :meth:`save`."""
        with np.load(path, allow_pickle=False) as found:
            source, target = (
                found[f"{side}_words"].tobytes().decode().split("\n") for side in ("source", "target")
            )
            there, back = (
                FixedDirection(*(found[f"{name}_{field}"] for field in FixedDirection._fields))
                for name in ("there", "back")
            )
            return cls((source, target), found["keys"], there, back)
