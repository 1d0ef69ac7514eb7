"""The order in which an epoch goes through the rows of a corpus, block by block, without any memory."""

from dataclasses import dataclass

import numpy as np

BLOCK = 1 << 20  # rows that are cut into batches together
ROUNDS = 6
_STEPS = (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53))


@dataclass(frozen=True)
class EveryRow:
    """Every row once an epoch. A corpus of one block comes as it is, for batches are drawn at random anyway.

    Attributes:
        count: of the rows.
        seed: of the random order.
    """

    count: int
    seed: int

    def num_blocks(self, epoch: int) -> int:
        return max(1, -(-self.count // BLOCK))

    def rows(self, epoch: int, block: int) -> np.ndarray:
        number = self.num_blocks(epoch)
        if number == 1:
            return np.arange(self.count)
        return permuted(places(self.count, number, block), self.count, [self.seed, epoch])


@dataclass(frozen=True)
class WeightedRows:
    """Some rows of each of several corpora an epoch, which goes on with each where the last epoch stopped.

    So every row of a corpus is drawn equally often, whatever its share.

    Attributes:
        counts: rows of each corpus; they follow one another.
        drawn: how many rows of each an epoch draws, with repetitions if that is more than there are.
        seed: of the random orders.
    """

    counts: tuple[int, ...]
    drawn: tuple[int, ...]
    seed: int

    def num_blocks(self, epoch: int) -> int:
        return max(1, -(-sum(self.drawn) // BLOCK))

    def rows(self, epoch: int, block: int) -> np.ndarray:
        total = sum(self.drawn)
        draws = permuted(places(total, self.num_blocks(epoch), block), total, [self.seed, epoch])
        ends = np.cumsum(self.drawn)
        corpora = np.searchsorted(ends, draws, side="right")
        found = np.empty(len(draws), np.int64)
        for number, (count, drawn) in enumerate(zip(self.counts, self.drawn)):
            chosen = np.flatnonzero(corpora == number)
            visits = epoch * drawn + draws[chosen] - (ends[number] - drawn)
            begin = sum(self.counts[:number])
            for turn in np.unique(visits // count):
                mine = visits // count == turn
                order = permuted(visits[mine] % count, count, [self.seed, number, int(turn)])
                found[chosen[mine]] = begin + order
        return found


@dataclass(frozen=True)
class Staged:
    """Orders that follow one another at steps of training.

    An order gives the rows of every epoch in random blocks; each block is a random sample of the epoch.

    Attributes:
        orders: one a stage.
        ends: the steps after which the next stage begins; one less than there are orders.
    """

    orders: tuple[EveryRow | WeightedRows, ...]
    ends: tuple[int, ...] = ()

    def stage(self, step: int) -> int:
        """The stage after ``step`` steps."""
        return sum(step >= end for end in self.ends)


def places(count: int, num_blocks: int, block: int) -> np.ndarray:
    """The places of a block, when ``count`` places are dealt out evenly."""
    return np.arange(count * block // num_blocks, count * (block + 1) // num_blocks)


def permuted(places: np.ndarray, count: int, key: list[int]) -> np.ndarray:
    """The rows at some places of a random order of ``count`` rows.

    A Feistel network permutes the numbers below a power of four (Luby and Rackoff 1988); a result of
    ``count`` or more goes through it again until it is a row (cycle walking, Black and Rogaway 2002). The
    round function is the finaliser of MurmurHash3.

    Args:
        places: int64, from 0 to ``count - 1``.
        count: of all rows.
        key: numbers that name the order; other numbers give another order.
    Returns:
        int64, of the same shape; all places together give each row once.
    """
    half = np.uint64(max(1, (max(count - 1, 1).bit_length() + 1) // 2))
    low = (np.uint64(1) << half) - np.uint64(1)
    keys = np.random.SeedSequence([len(key), *key]).generate_state(ROUNDS, np.uint64)
    rows = places.astype(np.uint64)
    outside = np.arange(len(rows))
    while len(outside):
        left, right = rows[outside] >> half, rows[outside] & low
        for round_key in keys:
            left, right = right, left ^ (_mixed(right ^ round_key) & low)
        rows[outside] = left << half | right
        outside = outside[rows[outside] >= np.uint64(count)]
    return rows.astype(np.int64)


def _mixed(values: np.ndarray) -> np.ndarray:
    shift = np.uint64(33)
    for step in _STEPS:
        values = (values ^ (values >> shift)) * step
    return values ^ (values >> shift)
