"""The statistical aligner: hidden Markov models of both directions, trained to agree on a corpus.

Liang et al. 2006: each round weighs a link, for the translation tables of both directions, by
q(i, j) = p(i | j) p(j | i), the product of their posteriors. A word therefore does not collect words without
a counterpart, because the other direction does not confirm those links. Deviation: each direction estimates
NULL, jumps and the probability of having no link alone. Training starts with IBM model 1 and goes on with
the model of `hidden_markov.py`.

Pairs with known links, such as a few hundred annotated by hand, can join the estimation (semi-supervised, as
in Fraser and Marcu 2006), so that the other links follow the annotators' conventions.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from translate.links.hidden_markov import (
    MAX_JUMP,
    NULL_PROBABILITY,
    Posteriors,
    first_jumps,
    forward_backward,
    model_1,
)
from translate.links.links import Link, Links
from translate.links.symmetrise import symmetrise

Words = Sequence[Sequence[str]]  # the words of each sentence

MODEL_1_ROUNDS = 4
HMM_ROUNDS = 6
BLOCK_CELLS = 500_000  # possible links of one block; bounds the memory
LINK_PROBABILITY = 0.5  # a direction links two words whose posterior is above this
NULL_LIMITS = 0.005, 0.5  # bounds of the learnt probability of having no link
MAX_WEIGHT = 100.0  # of a pair with known links
_RARE = 1e-9  # count of a pair of words that neither direction links


class KnownLinks(NamedTuple):
    """Pairs whose links are known."""

    sources: Words
    targets: Words
    links: Sequence[Links]


class Padded(NamedTuple):
    """The words of one side of N pairs, as numbers."""

    numbers: np.ndarray  # (N, words of the longest), 0 beyond the words of a pair
    within: np.ndarray  # of the same shape; whether a pair has the word

    @classmethod
    def of(cls, numbers: np.ndarray, lengths: np.ndarray) -> "Padded":
        """From the numbers of all words, one pair after the other, and how many each pair has."""
        within = np.arange(lengths.max()) < lengths[:, None]
        padded = np.zeros(within.shape, np.int64)
        padded[within] = numbers
        return cls(padded, within)


class _Block(NamedTuple):
    """Pairs with up to I source and J target words each."""

    pairs: list[int]  # indexes into the corpus
    sides: tuple[Padded, Padded]  # source types (N, I) and target types (N, J)
    cells: slice  # of their possible links
    weight: float  # of each pair
    links: np.ndarray | None  # (N, J, I) 1 for a link, if the links are known


class PossibleLinks(NamedTuple):
    """The possible links of a corpus, block after block, each block as (N, J, I) without what is padded."""

    blocks: list[_Block]
    entries: np.ndarray  # (cells,) entry of the translation table of each possible link
    sides: tuple[np.ndarray, np.ndarray]  # int32, source type and target type of each entry
    types: tuple[dict[str, int], dict[str, int]]  # number of each source word and of each target word


class Tables:
    """The parameters of one direction, which generates the words of one side given those of side `given`."""

    def __init__(self, possible: PossibleLinks, given: int) -> None:
        self.possible, self.given = possible, given
        num_types = len(possible.types[1 - given])
        self.table = np.full(len(possible.sides[0]), 1.0 / num_types)  # p(generated word | given word)
        self.null = np.full(num_types, 1.0 / num_types)  # p(generated word | NULL)
        self.jumps, self.p0 = first_jumps(), NULL_PROBABILITY
        generated = [(block.weight, block.sides[1 - given].within) for block in possible.blocks]
        self.num_words = sum(weight * words.sum() for weight, words in generated)
        self._null_counts, self._jump_counts = np.zeros(num_types), np.zeros(2 * MAX_JUMP + 1)

    def count_unlinked(self, block: _Block, links: np.ndarray) -> None:
        """Count the words without any of the known links of a block."""
        words, within = block.sides[1 - self.given]
        unlinked = (links.sum(1 if self.given else 2) == 0) & within
        np.add.at(self._null_counts, words, unlinked * block.weight)

    def posteriors(self, block: _Block, *, jumping: bool) -> np.ndarray:
        """Posteriors (N, J, I) of the links of a block; adds up the expected NULL links and jumps."""
        within = possible_cells(*block.sides)
        emission = np.zeros(within.shape)
        emission[within] = self.table[self.possible.entries[block.cells]]
        if self.given:
            emission = emission.transpose(0, 2, 1)
        generated = block.sides[1 - self.given].numbers
        lengths = np.stack([block.sides[side].within.sum(1) for side in (self.given, 1 - self.given)])
        model = forward_backward if jumping else model_1
        found: Posteriors = model(emission, self.null[generated], self.p0, self.jumps, lengths)
        np.add.at(self._null_counts, generated, found.null)
        self._jump_counts += found.jumps
        return found.links.transpose(0, 2, 1) if self.given else found.links

    def update(self, counts: np.ndarray, *, jumping: bool) -> None:
        """End a round: new parameters from the expected counts of the table's entries, NULL and jumps."""
        word = self.possible.sides[self.given]
        self.table = counts / np.bincount(word, counts)[word]
        self.null = (self._null_counts + 1e-3) / (self._null_counts + 1e-3).sum()
        if jumping:
            self.p0 = float(np.clip(self._null_counts.sum() / self.num_words, *NULL_LIMITS))
            self.jumps = self._jump_counts + 0.01 * self._jump_counts.mean()
        self._null_counts, self._jump_counts = np.zeros_like(self.null), np.zeros_like(self.jumps)


def estimate_links(
    sources: Words, targets: Words, *, method: str = "grow-diag-final-and", known: KnownLinks | None = None
) -> list[Links]:
    """Symmetrised links of every pair of a corpus; a pair with an empty side has none.

    Args:
        sources: words of each sentence.
        targets: words of their translations.
        method: see :func:`translate.links.symmetrise.symmetrise`.
        known: other pairs, with their links. If they are fewer than the corpus, all together weigh as much
            as it, but one pair weighs at most `MAX_WEIGHT`.
    """
    links: list[Links] = [frozenset()] * len(sources)
    possible = possible_links(sources, targets, known)
    if not possible.blocks:
        return links
    directions = trained(possible, HMM_ROUNDS)
    for block in possible.blocks:
        if block.links is not None:
            continue
        linked = [direction.posteriors(block, jumping=True) > LINK_PROBABILITY for direction in directions]
        for pair, forward, backward in zip(block.pairs, *map(by_pair, linked), strict=True):
            links[pair] = symmetrise(forward, backward, method)
    return links


def trained(possible: PossibleLinks, hmm_rounds: int) -> tuple[Tables, Tables]:
    """The parameters of both directions after the rounds of model 1 and ``hmm_rounds``."""
    directions = Tables(possible, 0), Tables(possible, 1)
    agreed = np.empty(len(possible.entries), np.float32)
    for number in range(MODEL_1_ROUNDS + hmm_rounds):
        jumping = number >= MODEL_1_ROUNDS
        for block in possible.blocks:
            if block.links is None:
                there, back = (direction.posteriors(block, jumping=jumping) for direction in directions)
                agreed[block.cells] = (there * back)[possible_cells(*block.sides)]
            else:
                agreed[block.cells] = block.weight * block.links[possible_cells(*block.sides)]
                for direction in directions:
                    direction.count_unlinked(block, block.links)
        counts = _sums(possible.entries, agreed, len(possible.sides[0])) + _RARE
        for direction in directions:
            direction.update(counts, jumping=jumping)
    return directions


def _sums(entries: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
    """The sum of the values of each entry, in float64, part by part: `np.bincount` would copy all of them."""
    found = np.zeros(count)
    for begin in range(0, len(entries), BLOCK_CELLS):
        part = slice(begin, begin + BLOCK_CELLS)
        np.add.at(found, entries[part].astype(np.intp), values[part].astype(np.float64))
    return found


def by_pair(linked: np.ndarray) -> Iterator[set[Link]]:
    """The (source, target) links of each pair, from (N, J, I) booleans."""
    for matrix in linked:
        target, source = matrix.nonzero()
        yield set(zip(source.tolist(), target.tolist(), strict=True))


def possible_links(sources: Words, targets: Words, known: KnownLinks | None) -> PossibleLinks:
    """The possible links of all pairs, without blocks if every pair has an empty side."""
    known = known or KnownLinks([], [], [])
    source_types: dict[str, int] = {}
    target_types: dict[str, int] = {}
    blocks: list[_Block] = []
    stop = 0
    for number, (lines, translations) in enumerate(((sources, targets), known[:2])):
        weight = min(MAX_WEIGHT, max(1.0, len(sources) / max(1, len(lines))))
        for pairs in of_similar_lengths(lines, translations):
            words = _types(lines, pairs, source_types), _types(translations, pairs, target_types)
            within = possible_cells(*words)
            start, stop = stop, stop + int(within.sum())
            links = _matrices([known.links[pair] for pair in pairs], within.shape) if number else None
            blocks.append(_Block(pairs, words, slice(start, stop), weight, links))
    table = _different(_keys(block) for block in blocks)
    entries = np.empty(stop, np.int32)
    for block in blocks:
        entries[block.cells] = np.searchsorted(table, _keys(block))
    sides = (table >> 32).astype(np.int32), (table & 0xFFFFFFFF).astype(np.int32)
    return PossibleLinks(blocks, entries, sides, (source_types, target_types))


def possible_cells(source: Padded, target: Padded) -> np.ndarray:
    """(N, J, I) whether a pair has both words."""
    return target.within[:, :, None] & source.within[:, None, :]


def _keys(block: _Block) -> np.ndarray:
    """The source type and the target type of each possible link of a block, as one number."""
    source, target = block.sides
    keys = source.numbers[:, None, :] << 32 | target.numbers[:, :, None]
    return keys[possible_cells(source, target)]


def _different(parts: Iterable[np.ndarray]) -> np.ndarray:
    """All different numbers of some arrays, in ascending order, in little more memory than they need."""
    found = np.zeros(0, np.int64)
    held: list[np.ndarray] = []
    for part in parts:
        held.append(np.unique(part))
        if sum(map(len, held)) > max(len(found), 4 * BLOCK_CELLS):
            found, held = np.unique(np.concatenate([found, *held])), []
    return np.unique(np.concatenate([found, *held]))


def of_similar_lengths(sources: Words, targets: Words) -> Iterator[list[int]]:
    """Indexes of pairs with about as many words, in groups of about `BLOCK_CELLS` possible links.

    Lengths are rounded up to 3 binary digits, so that long pairs share a group, too, though no two of them
    have the same lengths.
    """
    shapes: dict[tuple[int, int], list[int]] = {}
    for pair, (source, target) in enumerate(zip(sources, targets, strict=True)):
        if source and target:
            shapes.setdefault((_rounded(len(source)), _rounded(len(target))), []).append(pair)
    for (num_source, num_target), pairs in sorted(shapes.items()):
        step = max(1, BLOCK_CELLS // (num_source * num_target))
        yield from (pairs[begin : begin + step] for begin in range(0, len(pairs), step))


def _rounded(length: int) -> int:
    """The length, rounded up to 3 binary digits: 5, 12 for 11, 56 for 50."""
    unit = 1 << max(0, length.bit_length() - 3)
    return -(-length // unit) * unit


def _matrices(links: Sequence[Links], shape: tuple[int, int, int]) -> np.ndarray:
    matrices = np.zeros(shape, np.float32)
    for pair, linked in enumerate(links):
        for source, target in linked:
            matrices[pair, target, source] = 1
    return matrices


def _types(lines: Words, pairs: list[int], types: dict[str, int]) -> Padded:
    chosen = [lines[pair] for pair in pairs]
    numbers = [types.setdefault(word, len(types)) for line in chosen for word in line]
    return Padded.of(np.array(numbers, np.int64), np.array([len(line) for line in chosen]))
