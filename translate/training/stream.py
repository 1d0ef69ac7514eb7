"""The endless, resumable stream of batches, prepared in a thread beside the training step."""

import queue
import threading
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from translate.corpora.batching import Batch, EncodedCorpus, collate, plan_batches
from translate.text.tokenizer import BOS, EOS, PAD, UNK

PREPARED = 4  # groups of batches kept ready
SPECIAL = (PAD, BOS, EOS)


class Position(NamedTuple):
    """Where training stands in the corpus: the epoch, and the batches of it that are done."""

    epoch: int = 0
    batch: int = 0


class BatchGroup(NamedTuple):
    """This process's batches of one optimizer step, and the position after them.

    If the last batches of an epoch do not suffice for all processes, the others get a spare one whose loss
    does not count, so that all take part in every exchange.
    """

    batches: list[Batch]
    after: Position
    num_tokens: int  # target tokens of all processes
    spare: bool = False  # whether the last batch is a spare one


@dataclass(frozen=True)
class BatchStream:
    """Batches of a corpus, epoch after epoch, which depend only on the seed and the epoch.

    Several processes share the same batches, dealt out one at a time.

    Attributes:
        corpus: in the most probable pieces.
        batch_tokens: target tokens a batch, padding included.
        accumulate: batches an optimizer step, for each process.
        seed: of the order, of word dropout, and of subword sampling.
        word_dropout: probability that the model reads ``<unk>`` instead of a piece.
        sample: gives the corpus in pieces sampled for a seed and an epoch; ``None`` keeps the same pieces.
        rank: of this process.
        processes: how many share the batches.
    """

    corpus: EncodedCorpus
    batch_tokens: int
    accumulate: int
    seed: int
    word_dropout: float = 0.0
    sample: Callable[[int, int], EncodedCorpus] | None = None
    rank: int = 0
    processes: int = 1

    @property
    def group_size(self) -> int:
        """Batches an optimizer step, over all processes."""
        return self.accumulate * self.processes

    def epoch_length(self) -> int:
        """Batches an epoch; with subword sampling the number varies a little."""
        return len(self._plan(self.corpus, 0))

    def from_position(self, start: Position) -> Generator[BatchGroup]:
        """Endless groups from ``start`` on; an epoch's last group may be smaller."""
        ready: queue.Queue[BatchGroup | BaseException] = queue.Queue(maxsize=PREPARED)
        stopped = threading.Event()

        def offer(item: BatchGroup | BaseException) -> None:
            while not stopped.is_set():
                try:
                    ready.put(item, timeout=0.1)
                except queue.Full:
                    continue
                return

        def prepare() -> None:
            try:
                for group in self._groups(start):
                    offer(group)
                    if stopped.is_set():
                        return
            except BaseException as error:  # raised by the reader
                offer(error)

        thread = threading.Thread(target=prepare, name="batches", daemon=True)
        thread.start()
        try:
            while True:
                item = ready.get()
                if isinstance(item, BaseException):
                    raise item
                yield item
        finally:
            stopped.set()
            thread.join()

    def _plan(self, corpus: EncodedCorpus, epoch: int) -> list[np.ndarray]:
        return plan_batches(
            corpus.source.lengths, corpus.target.lengths, self.batch_tokens, seed=self.seed, epoch=epoch
        )

    def _groups(self, start: Position) -> Iterator[BatchGroup]:
        epoch, first = start
        while True:
            corpus = self.sample(self.seed, epoch) if self.sample else self.corpus
            plan = self._plan(corpus, epoch)
            for begin in range(first, len(plan), self.group_size):
                chosen = plan[begin : begin + self.group_size]
                done = begin + len(chosen)
                after = Position(epoch + 1, 0) if done == len(plan) else Position(epoch, done)
                num_tokens = sum(int(corpus.target.lengths[rows].sum()) + len(rows) for rows in chosen)
                mine = list(range(len(chosen)))[self.rank :: self.processes]
                spare = len(mine) < len(chosen[:: self.processes])
                if spare:
                    mine.append(0)
                batches = [collate(corpus, chosen[i].tolist()) for i in mine]
                if self.word_dropout:
                    numbered = zip(mine, batches, strict=True)
                    batches = [self._noisy(batch, epoch, begin + i) for i, batch in numbered]
                yield BatchGroup(batches, after, num_tokens, spare)
            epoch, first = epoch + 1, 0

    def _noisy(self, batch: Batch, epoch: int, number: int) -> Batch:
        return drop_words(batch, self.word_dropout, np.random.default_rng([self.seed, epoch, number]))


def drop_words(batch: Batch, probability: float, generator: np.random.Generator) -> Batch:
    """Word dropout: replace pieces that the model reads, on both sides, by ``<unk>``; targets stay.

    Iyyer et al. 2015 remove words from a bag; here the positions remain.

    Args:
        batch: on the CPU; it is not changed.
        probability: that a piece is replaced. Padding, begin and end of sentence never are.
        generator: chooses the pieces.
    """

    def noisy(ids: Tensor) -> Tensor:
        chosen = torch.from_numpy(generator.random(ids.shape, dtype=np.float32) < probability)
        for special in SPECIAL:
            chosen &= ids != special
        return ids.masked_fill(chosen, UNK)

    return replace(batch, source=noisy(batch.source), target_in=noisy(batch.target_in))
