"""The search loop: sentences enter a running batch when there is room and leave it when they are done.

:mod:`translate.search.sampling` draws at random in the same loop. A file, a stream and the server feed it.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Generic, TypeVar

import torch

from translate.config.search import SearchConfig
from translate.search.beam import Beam, Finished
from translate.search.decoders import Record
from translate.search.running import RunningBatch
from translate.search.sources import SentenceGroup

Item = TypeVar("Item")
Result = TypeVar("Result")

MAX_WORKERS = 4  # Python runs one thread at a time, and about a quarter of a step is Python
MAX_PARKED = 3  # a bound on memory
NEAR = 4  # steps: rather than wait, a batch goes on to a parked one that is this near


class Supply(Generic[Item]):
    """Items that workers take in order, and every item once.

    Args:
        items: all there are.
    """

    def __init__(self, items: Iterable[Item]) -> None:
        self._items = deque(items)
        self._lock = threading.Lock()
        self.closed = False  # nothing more comes, and items that were taken need not be finished

    def __len__(self) -> int:
        return len(self._items)

    def take(self) -> Item | None:
        """The next item; ``None`` if there is none now."""
        with self._lock:
            return self._items.popleft() if self._items and not self.closed else None

    def close(self) -> None:
        """End the work at the next step."""
        self.closed = True

    def after_step(self, running: RunningBatch) -> None:
        """Called after each step of a batch; a server reads its newest tokens and drops sentences here."""


def search(
    supply: Supply[Item],
    begin: Callable[[Item], SentenceGroup],
    config: SearchConfig,
    *,
    policy: Beam | None = None,
    record: Record | None = None,
    eager: bool = False,
) -> Iterator[Finished]:
    """Search sentences until there are no more; gives each as soon as it is done.

    A step costs much the same for three sentences as for ten. So when half of a batch is done, the other half
    is parked until a newer batch has come to the same step, and enters that one: sentences of the same age
    share all columns of their caches. With ``eager``, sentences enter as soon as there is room, at any age,
    which answers a newcomer sooner and costs about a tenth more time in all.

    Args:
        supply: items to take whenever there is room; other workers may take from it, too. Closing it ends
            the search at the next step.
        begin: the sentences of an item, which are encoded together and make their first step together.
        config: see :class:`SearchConfig`.
        policy: how hypotheses are continued; by default a beam.
        record: the attention that hypotheses carry.
        eager: whether sentences of different ages run together.
    """
    policy = policy or Beam(config)
    parked: list[RunningBatch] = []
    while not supply.closed:
        item = supply.take()
        if item is not None:
            running = RunningBatch(begin(item), config, policy, record)
        elif parked:
            running = parked.pop(parked.index(min(parked, key=lambda batch: batch.age)))
        else:
            return
        while running.live and not supply.closed:
            if eager and running.wants_more and (item := supply.take()) is not None:
                newer = RunningBatch(begin(item), config, policy, record)
                yield from newer.step()
                parked += [newer] if newer.live else []
            partner = next((batch for batch in parked if running.takes(batch, any_age=eager)), None)
            if partner is not None:
                running.enter(partner)
                parked = [batch for batch in parked if batch.live]
            elif not eager and _had_better_wait(running, parked, len(supply)):
                parked.append(running)
                break
            running.shrink()
            yield from running.step()
            supply.after_step(running)


def _had_better_wait(running: RunningBatch, parked: Sequence[RunningBatch], num_items: int) -> bool:
    """Whether the rest of a batch is parked for a newer one: of the ``num_items`` left, or parked itself."""
    if 2 * len(running.live) > running.full:
        return False
    partners = [batch for batch in parked if running.has_room(batch)]
    if not num_items:
        return any(batch.age < running.age for batch in partners)
    near = any(0 < batch.age - running.age <= NEAR for batch in partners)
    return len(parked) < MAX_PARKED and not near


def share_out(
    work: Callable[[Supply[Item]], Iterable[Result]], items: Iterable[Item], workers: int
) -> Iterator[Result]:
    """The results of ``work`` on all items, as they come, by up to ``workers`` threads that share the items.

    Gradients are off in each of them. When the caller stops early, or a worker fails, all workers have ended
    before control returns.
    """
    supply = Supply(items)
    workers = min(workers, len(supply))
    if workers < 2:
        yield from work(supply)
        return
    results: SimpleQueue[tuple[Result] | BaseException | None] = SimpleQueue()  # None: a worker has ended

    def run() -> None:
        try:
            with torch.no_grad():
                for result in work(supply):
                    results.put((result,))
        except BaseException as error:
            supply.close()  # the other workers need not go on
            results.put(error)
        finally:
            results.put(None)

    pool, busy = ThreadPoolExecutor(workers, "translate"), workers
    try:
        for _ in range(workers):
            pool.submit(run)
        while busy:
            result = results.get()
            if isinstance(result, BaseException):
                raise result
            if result is None:
                busy -= 1
            else:
                yield result[0]
    finally:
        supply.close()
        pool.shutdown()
