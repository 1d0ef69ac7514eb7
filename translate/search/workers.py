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
    work: Callable[[Supply[Item]], Iterable[Result]], items: Iterable[Item], device: torch.device
) -> Iterator[Result]:
    """The results of ``work`` on all items, as they come; on a CPU by up to 4 workers, one a thread of torch.

    The workers share the threads and the items out among themselves. Gradients are off in each of them. When
    the caller stops early, or a worker fails, all workers have ended before control returns.
    """
    supply, threads = Supply(items), torch.get_num_threads()
    workers = min(threads, len(supply), MAX_WORKERS)
    if device.type != "cpu" or workers < 2:
        yield from work(supply)
        return
    results: SimpleQueue[tuple[Result] | BaseException | None] = SimpleQueue()  # None: a worker has ended

    def begin() -> None:
        torch.set_num_threads(threads // workers)  # of this worker alone

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

    pool, busy = ThreadPoolExecutor(workers, "translate", begin), workers
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
        torch.set_num_threads(threads)  # new threads of the process would begin with the workers' number
