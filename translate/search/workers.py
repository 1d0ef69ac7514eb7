"""Workers side by side: a step of a search is many small operations, which threads share badly."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Generic, TypeVar

import torch

from translate.search.running import RunningBatch

Item = TypeVar("Item")
Result = TypeVar("Result")

MAX_WORKERS = 4  # Python runs one thread at a time, and about a quarter of a step is Python


class Supply(Generic[Item]):
    """Items that workers take, each item once, in order.

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
