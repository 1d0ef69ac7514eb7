"""The endless, resumable order of batches, prepared beside the training step."""

import queue
import threading
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from translate.corpora.batching import Batch, EncodedCorpus, collate, plan_batches
from translate.training.noise import drop_words

PREPARED = 4  # groups of batches kept ready


class Position(NamedTuple):
    """Where in the corpus training stands: batches of this epoch that are done."""

    epoch: int = 0
    batch: int = 0


class Group(NamedTuple):
    """The batches of one optimizer step that fall to this process, and the position after them.

    Where batches are left for some processes only, the others are given one that counts for nothing, so that
    all take part in every exchange.
    """

    batches: list[Batch]
    after: Position
    num_tokens: int  # target tokens of all processes
    spare: bool = False  # whether the last batch counts for nothing


@dataclass(frozen=True)
class BatchStream:
    """Batches of a corpus, epoch after epoch; they depend on the seed and the epoch alone.

    With several processes they are the same ones, dealt out one at a time.

    Attributes:
        corpus: in its best pieces.
        batch_tokens: target tokens.
        accumulate: batches an optimizer step, of each process.
        seed: of the order, of word dropout, and of sampled pieces.
        word_dropout: probability that the model reads ``<unk>`` for a piece.
        sample: the corpus in pieces drawn for a seed and an epoch, if they are other ones in each epoch.
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
        """Batches an optimizer step, of all processes together."""
        return self.accumulate * self.processes

    def epoch_length(self) -> int:
        """Batches in an epoch; a little more or less where pieces are sampled."""
        return len(self._plan(self.corpus, 0))

    def from_position(self, start: Position) -> Generator[Group]:
        """Groups from ``start`` on, for ever; an epoch's last group may be smaller."""
        ready: queue.Queue[Group | BaseException] = queue.Queue(maxsize=PREPARED)
        stopped = threading.Event()

        def offer(item: Group | BaseException) -> None:
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
            except BaseException as error:  # handed to the reader, who raises it
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

    def _groups(self, start: Position) -> Iterator[Group]:
        epoch, first = start
        while True:
            corpus = self.sample(self.seed, epoch) if self.sample else self.corpus
            plan = self._plan(corpus, epoch)
            for begin in range(first, len(plan), self.group_size):
                chosen = plan[begin : begin + self.group_size]
                done = begin + len(chosen)
                after = Position(epoch + 1, 0) if done == len(plan) else Position(epoch, done)
                num_tokens = sum(int(corpus.target.lengths[each].sum()) + len(each) for each in chosen)
                mine = list(range(len(chosen)))[self.rank :: self.processes]
                spare = len(mine) < len(chosen[:: self.processes])
                if spare:
                    mine.append(0)
                batches = [collate(corpus, chosen[i].tolist()) for i in mine]
                if self.word_dropout:
                    numbered = zip(mine, batches, strict=True)
                    batches = [self._noisy(batch, epoch, begin + i) for i, batch in numbered]
                yield Group(batches, after, num_tokens, spare)
            epoch, first = epoch + 1, 0

    def _noisy(self, batch: Batch, epoch: int, number: int) -> Batch:
        return drop_words(batch, self.word_dropout, np.random.default_rng([self.seed, epoch, number]))
