"""Word links counted in a corpus: hidden Markov models of both directions, trained to agree.

Liang et al. 2006: in every round a link counts, for the translation tables of either direction, as often as
*both* believe in it, q(i, j) = p(i | j) p(j | i), the product of their posteriors. So no word collects what
has no counterpart: the other direction does not confirm it. Deviation: NULL and jumps are counted by each
direction alone, so is how often a word has no link. IBM model 1 begins, the jumps of `jumps.py` follow.

Pairs whose links are known, as a few hundred that somebody aligned, can be counted beside the others in each
round (semi-supervised, as Fraser and Marcu 2006), so that the rest follows how they were annotated.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from translate.aligner.jumps import (
    MAX_JUMP,
    NULL_PROBABILITY,
    Posteriors,
    first_jumps,
    forward_backward,
    without_places,
)
from translate.aligner.links import Link, Links
from translate.aligner.symmetrise import symmetrise

ROUNDS_WITHOUT_PLACES = 4  # of IBM model 1
ROUNDS_OF_JUMPS = 6
CELLS = 500_000  # possible links that are worked on at a time, a bound on memory
BELIEVED = 0.5  # a direction's link is one that it rather believes in than not
NULL_LIMITS = 0.005, 0.5  # of the learnt probability of having no link
MAX_WEIGHT = 100.0  # of a pair whose links are known
_RARE = 1e-9  # count of a pair of words that neither direction believes in


class Known(NamedTuple):
    """Pairs whose links are known."""

    sources: Sequence[Sequence[str]]
    targets: Sequence[Sequence[str]]
    links: Sequence[Links]


class _Block(NamedTuple):
    """Pairs of the same numbers of words, I and J."""

    pairs: list[int]  # their places in the corpus
    sources: np.ndarray  # (N, I) source types
    targets: np.ndarray  # (N, J) target types
    cells: slice  # of their possible links
    weight: float  # how often each pair counts
    links: np.ndarray | None  # (N, J, I) 1 for each link, if they are known


class _Words(NamedTuple):
    """The possible links of a corpus, all blocks after each other, each block as (N, J, I)."""

    blocks: list[_Block]
    entries: np.ndarray  # (cells,) entry of the translation table of each
    sides: tuple[np.ndarray, np.ndarray]  # source type and target type of each entry
    sizes: tuple[int, int]  # number of source types and of target types


class _Direction:
    """One direction's tables: of side 0 given side 1 is the way back."""

    def __init__(self, words: _Words, given: int) -> None:
        self.words, self.given = words, given
        made = words.sizes[1 - given]
        self.table = np.full(len(words.sides[0]), 1.0 / made)  # of each entry, made word given word
        self.null = np.full(made, 1.0 / made)  # of each made word, given NULL
        self.jumps, self.p0 = first_jumps(), NULL_PROBABILITY
        # Words of the side that is made, in all pairs.
        self.num_made = sum(block.weight * self._made(block).size for block in words.blocks)
        self._null_counts, self._jump_counts = np.zeros(made), np.zeros(2 * MAX_JUMP + 1)

    def _made(self, block: _Block) -> np.ndarray:
        return block.sources if self.given else block.targets

    def see(self, block: _Block, links: np.ndarray) -> None:
        """Count which words have none of the known links of a block."""
        unlinked = (links.sum(1 if self.given else 2) == 0) * block.weight
        np.add.at(self._null_counts, self._made(block), unlinked)

    def believe(self, block: _Block, *, jumping: bool) -> np.ndarray:
        """Posteriors of the links of a block, always (N, J, I); NULL and jumps are counted aside."""
        shape = (len(block.pairs), block.targets.shape[1], block.sources.shape[1])
        emission = self.table[self.words.entries[block.cells]].reshape(shape)
        if self.given:
            emission = emission.transpose(0, 2, 1)
        made = self._made(block)
        null = self.null[made]
        found: Posteriors = (
            forward_backward(emission, null, self.p0, self.jumps)
            if jumping
            else without_places(emission, null, self.p0)
        )
        np.add.at(self._null_counts, made, found.null)
        self._jump_counts += found.jumps
        return found.links.transpose(0, 2, 1) if self.given else found.links

    def learn(self, counts: np.ndarray, *, jumping: bool) -> None:
        """Take over what was counted in a round; counts are of the entries of the table."""
        word = self.words.sides[self.given]
        self.table = counts / np.bincount(word, counts)[word]
        self.null = (self._null_counts + 1e-3) / (self._null_counts + 1e-3).sum()
        if jumping:
            self.p0 = float(np.clip(self._null_counts.sum() / self.num_made, *NULL_LIMITS))
            self.jumps = self._jump_counts + 0.01 * self._jump_counts.mean()
        self._null_counts, self._jump_counts = np.zeros_like(self.null), np.zeros_like(self.jumps)


def count_links(
    sources: Sequence[Sequence[str]],
    targets: Sequence[Sequence[str]],
    *,
    method: str = "grow-diag-final-and",
    known: Known | None = None,
) -> list[Links]:
    """Symmetrised links of every pair of a corpus; a pair with an empty side has none.

    Args:
        sources: words of each sentence.
        targets: words of their translations.
        method: see :func:`translate.aligner.symmetrise.symmetrise`.
        known: other pairs, whose links are known; together they count as much as the corpus, if they are
            fewer, but each as `MAX_WEIGHT` pairs at most.
    """
    links: list[Links] = [frozenset()] * len(sources)
    words = _words(sources, targets, known or Known([], [], []))
    if not words.blocks:
        return links
    directions = _Direction(words, 0), _Direction(words, 1)
    agreed = np.empty(len(words.entries), np.float32)
    for number in range(ROUNDS_WITHOUT_PLACES + ROUNDS_OF_JUMPS):
        jumping = number >= ROUNDS_WITHOUT_PLACES
        for block in words.blocks:
            if block.links is None:
                there, back = (direction.believe(block, jumping=jumping) for direction in directions)
                agreed[block.cells] = (there * back).ravel()
            else:
                agreed[block.cells] = block.weight * block.links.ravel()
                for direction in directions:
                    direction.see(block, block.links)
        counts = np.bincount(words.entries, agreed, len(words.sides[0])) + _RARE
        for direction in directions:
            direction.learn(counts, jumping=jumping)
    for block in words.blocks:
        if block.links is not None:
            continue
        believed = [direction.believe(block, jumping=True) > BELIEVED for direction in directions]
        for pair, forward, backward in zip(block.pairs, *map(_by_pair, believed), strict=True):
            links[pair] = symmetrise(forward, backward, method)
    return links


def _by_pair(believed: np.ndarray) -> Iterator[set[Link]]:
    """(source, target) places of each pair, of its (J, I) yes or no."""
    for each in believed:
        target, source = each.nonzero()
        yield set(zip(source.tolist(), target.tolist(), strict=True))


def _words(sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]], known: Known) -> _Words:
    source_types: dict[str, int] = {}
    target_types: dict[str, int] = {}
    blocks: list[_Block] = []
    stop = 0
    for number, (lines, translations) in enumerate(((sources, targets), known[:2])):
        weight = min(MAX_WEIGHT, max(1.0, len(sources) / max(1, len(lines))))
        for pairs in _alike(lines, translations):
            s, t = _numbers(lines, pairs, source_types), _numbers(translations, pairs, target_types)
            shape = len(pairs), t.shape[1], s.shape[1]
            start, stop = stop, stop + math.prod(shape)
            links = _places([known.links[pair] for pair in pairs], shape) if number else None
            blocks.append(_Block(pairs, s, t, slice(start, stop), weight, links))
    keys = np.empty(stop, np.int64)
    for block in blocks:
        keys[block.cells] = (block.sources[:, None, :] << 32 | block.targets[:, :, None]).ravel()
    table, entries = np.unique(keys, return_inverse=True)
    sides = table >> 32, table & 0xFFFFFFFF
    return _Words(blocks, entries.astype(np.int32), sides, (len(source_types), len(target_types)))


def _alike(sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]) -> Iterator[list[int]]:
    """Places of pairs with the same numbers of words, so many that their links are about `CELLS`."""
    shapes: dict[tuple[int, int], list[int]] = {}
    for pair, (source, target) in enumerate(zip(sources, targets, strict=True)):
        if source and target:
            shapes.setdefault((len(source), len(target)), []).append(pair)
    for (num_source, num_target), pairs in sorted(shapes.items()):
        step = max(1, CELLS // (num_source * num_target))
        yield from (pairs[begin : begin + step] for begin in range(0, len(pairs), step))


def _places(links: Sequence[Links], shape: tuple[int, int, int]) -> np.ndarray:
    found = np.zeros(shape, np.float32)
    for pair, linked in enumerate(links):
        for source, target in linked:
            found[pair, target, source] = 1
    return found


def _numbers(lines: Sequence[Sequence[str]], pairs: list[int], types: dict[str, int]) -> np.ndarray:
    return np.array(
        [[types.setdefault(word, len(types)) for word in lines[pair]] for pair in pairs], np.int64
    )
