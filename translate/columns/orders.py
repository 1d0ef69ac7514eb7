"""In which order an epoch goes through the rows of a corpus, block by block."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from translate.columns.permutation import permuted

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


def places(count: int, num_blocks: int, block: int) -> np.ndarray:
    """The places of a block, when ``count`` places are dealt out evenly."""
    return np.arange(count * block // num_blocks, count * (block + 1) // num_blocks)
