"""The endless, resumable stream of batches, prepared in a thread beside the training step."""

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from translate.config.training import TrainingConfig
from translate.corpora.batching import Batch, collate, plan_batches
from translate.corpora.encoded import EncodedCorpus
from translate.corpora.images.patches import PATCH
from translate.corpora.orders import EveryRow, Staged
from translate.text.tokenizer import BOS, EOS, PAD, UNK
from translate.training.parallel import World

PREPARED = 4  # groups of batches kept ready
RELEASE = 256  # pairs after which pages of large files are given back; reading one row may map some 100 KiB
SPECIAL = (PAD, BOS, EOS, PATCH)


class Position(NamedTuple):
    """The place of training in the corpus: the epoch, its block, and the batches of that which are done."""

    epoch: int = 0
    batch: int = 0
    block: int = 0


class BatchGroup(NamedTuple):
    """This process's batches of one optimizer step, and the position after them.

    If the last batches of a block do not suffice for all processes, the others get a spare one whose loss
    does not count, so that all take part in every exchange.
    """

    batches: list[Batch]
    after: Position
    num_tokens: int  # target tokens of all processes
    spare: bool = False  # whether the last batch is a spare one


@dataclass(frozen=True)
class BatchStream:
    """Batches of a corpus, epoch after epoch, which depend only on the seed, the epoch and the block.

    A block is a random sample of about a million rows, whose batches are drawn together; most corpora are one
    block. So the order is random over the whole corpus, and takes the same memory whatever its size.

    Several processes share the same batches, dealt out one at a time.

    Attributes:
        corpus: in the most probable pieces.
        config: of the training; its seed is that of the order, of word dropout, and of subword sampling.
        sample: gives rows in pieces sampled for a seed; ``None`` keeps the same pieces.
        world: the processes that share the batches.
        orders: of the rows; ``None`` for every row once an epoch.
    """

    corpus: EncodedCorpus
    config: TrainingConfig
    sample: Callable[[Sequence[int], np.ndarray], EncodedCorpus] | None = None
    world: World = field(default_factory=World)
    orders: Staged | None = None

    @property
    def group_size(self) -> int:
        """Batches an optimizer step, over all processes."""
        return self.config.accumulate * self.world.size

    @cached_property
    def staged(self) -> Staged:
        """The orders of the rows."""
        return self.orders or Staged((EveryRow(len(self.corpus), self.config.seed),))

    @cached_property
    def num_blocks(self) -> int:
        """Blocks of the first epoch."""
        return self.staged.orders[0].num_blocks(0)

    @cached_property
    def epoch_length(self) -> int:
        """Batches an epoch, by its first block; other epochs have a few more or less."""
        lengths = self._lengths(self.corpus, self.staged.orders[0].rows(0, 0))
        return max(1, len(self._plan(lengths, Position()))) * self.num_blocks

    def epochs(self, at: Position) -> float:
        """How many epochs are behind a position; by the batches of :attr:`epoch_length`."""
        return at.epoch + min(1.0, at.block / self.num_blocks + at.batch / self.epoch_length)

    def from_position(self, start: Position, step: int = 0) -> Generator[BatchGroup]:
        """Endless groups from ``start`` on, after ``step`` steps; a block's last group may be smaller."""
        groups, pool = self._groups(start, step), ThreadPoolExecutor(1, "batches")
        try:
            ready = deque(pool.submit(next, groups) for _ in range(PREPARED))
            while True:
                group = ready.popleft().result()
                ready.append(pool.submit(next, groups))
                yield group
        finally:
            pool.shutdown(cancel_futures=True)

    def _lengths(self, corpus: EncodedCorpus, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The lengths of the source and the target of some rows."""
        found = corpus.source.lengths_of(rows), corpus.target.lengths_of(rows)
        corpus.release()
        return found

    def _plan(self, lengths: tuple[np.ndarray, np.ndarray], at: Position) -> list[np.ndarray]:
        """The batches of a block whose rows have these lengths: places among them."""
        tokens, seed = self.config.batch_tokens, self.config.seed
        return plan_batches(*lengths, tokens, seed=seed, epoch=at.epoch, block=at.block)

    def _groups(self, at: Position, step: int) -> Iterator[BatchGroup]:
        read = 0  # pairs since pages were given back
        while True:
            stage = self.staged.stage(step)
            order = self.staged.orders[stage]
            rows = order.rows(at.epoch, at.block)
            corpus, places = self.corpus, rows
            if self.sample:
                corpus = self.sample(
                    [self.config.seed, at.epoch, *([at.block + 1] if at.block else [])], rows
                )
                places = np.arange(len(rows))
            lengths = self._lengths(corpus, places)
            plan = self._plan(lengths, at)
            follower = Position(at.epoch, 0, at.block + 1)
            if follower.block == order.num_blocks(at.epoch):
                follower = Position(at.epoch + 1)
            after = follower
            for begin in range(at.batch, len(plan), self.group_size):
                group = plan[begin : begin + self.group_size]
                done = begin + len(group)
                step += 1
                after = follower if done == len(plan) else at._replace(batch=done)
                if self.staged.stage(step) != stage:
                    after = Position(at.epoch + 1)
                num_tokens = sum(int(lengths[1][batch].sum()) + len(batch) for batch in group)
                chosen = [places[batch].tolist() for batch in group]
                batches = self._share(corpus, rows, chosen, at._replace(batch=begin))
                spare = len(chosen[self.world.rank :: self.world.size]) < len(batches)
                yield BatchGroup(batches, after, num_tokens, spare)
                read += sum(map(len, chosen))
                if read >= RELEASE:
                    corpus.release()
                    read = 0
                if self.staged.stage(step) != stage:
                    break
            at = after

    def _share(
        self, corpus: EncodedCorpus, rows: np.ndarray, chosen: list[list[int]], at: Position
    ) -> list[Batch]:
        """This process's share of the batches ``chosen`` of a block, or else a spare one."""
        mine = list(range(len(chosen)))[self.world.rank :: self.world.size]
        if len(mine) < len(chosen[:: self.world.size]):
            mine.append(0)
        batches = [collate(corpus, chosen[i]) for i in mine]
        if self.sample:
            batches = [replace(b, indices=rows[b.indices].tolist()) for b in batches]
        if self.config.word_dropout:
            numbered = zip(mine, batches, strict=True)
            batches = [self._noisy(batch, at, at.batch + i) for i, batch in numbered]
        return batches

    def _noisy(self, batch: Batch, at: Position, number: int) -> Batch:
        key = [self.config.seed, at.epoch, number, *([at.block] if at.block else [])]
        return drop_words(batch, self.config.word_dropout, np.random.default_rng(key))


def drop_words(batch: Batch, probability: float, generator: np.random.Generator) -> Batch:
    """Word dropout: replace pieces that the model reads, on both sides, by ``<unk>``; targets stay.

    Iyyer et al. 2015 remove words from a bag; here the positions remain.

    Args:
        batch: on the CPU; it is not changed.
        probability: that a piece is replaced. Padding, begin and end of sentence never are.
        generator: chooses the pieces.
    """

    def noisy(ids: Tensor) -> Tensor:
        if ids.dim() == 3:  # cells, of which the first number is the id of a piece
            return torch.cat([noisy(ids[..., 0]).unsqueeze(2), ids[..., 1:]], dim=2)
        chosen = torch.from_numpy(generator.random(ids.shape, dtype=np.float32) < probability)
        for special in SPECIAL:
            chosen &= ids != special
        return ids.masked_fill(chosen, UNK)

    return replace(batch, source=noisy(batch.source), target_in=noisy(batch.target_in))
