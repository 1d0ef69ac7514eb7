"""In which order an epoch goes through the rows of a corpus, block by block."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from translate.corpora.columns.permutation import permuted

BLOCK = 1 << 20  # rows that are cut into batches together


class Order(Protocol):
    """The rows of every epoch in random blocks; each block is a random sample of the epoch."""

    def num_blocks(self, epoch: int) -> int: ...
    def rows(self, epoch: int, block: int) -> np.ndarray: ...


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

    Attributes:
        orders: one for each stage.
        ends: the steps after which the next stage begins; one less than there are orders.
    """

    orders: tuple[Order, ...]
    ends: tuple[int, ...] = ()

    def stage(self, step: int) -> int:
        """The stage after ``step`` steps."""
        return sum(step >= end for end in self.ends)


def places(count: int, num_blocks: int, block: int) -> np.ndarray:
    """The places of a block, when ``count`` places are dealt out evenly."""
    return np.arange(count * block // num_blocks, count * (block + 1) // num_blocks)
