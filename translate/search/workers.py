"""Batches side by side: a step of a search is many small operations, which threads share badly."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")

MAX_WORKERS = 4  # Python runs one thread at a time, and about a quarter of a step is Python


class Supply(Generic[Item]):
    """What workers take their work from, each item once, in order.

    Args:
        items: all there are.
    """

    def __init__(self, items: Iterable[Item]) -> None:
        self._items = deque(items)
        self._lock = threading.Lock()
        self.closed = False  # there is nothing more, and what was taken need not be finished

    def __len__(self) -> int:
        return len(self._items)

    @property
    def empty(self) -> bool:
        return not self._items

    def take(self) -> Item | None:
        """The next item; ``None`` if there is none."""
        with self._lock:
            return self._items.popleft() if self._items and not self.closed else None

    def close(self) -> None:
        self.closed = True


def share_out(
    work: Callable[[Supply[Item]], Iterable[Result]], items: Iterable[Item], device: torch.device
) -> Iterator[Result]:
    """What ``work`` makes of all items; on a CPU by as many workers as torch has threads, at most 4.

    The workers share the threads and the items out among themselves. Gradients are off in each of them.
    """
    supply, threads = Supply(items), torch.get_num_threads()
    workers = min(threads, len(supply), MAX_WORKERS)
    if device.type != "cpu" or workers < 2:
        yield from work(supply)
        return

    def begin() -> None:
        torch.set_num_threads(threads // workers)  # of this worker alone

    def run() -> list[Result]:
        try:
            with torch.no_grad():
                return list(work(supply))
        except BaseException:
            supply.close()  # the other workers need not go on
            raise

    pool = ThreadPoolExecutor(workers, "translate", begin)
    try:
        for future in [pool.submit(run) for _ in range(workers)]:
            yield from future.result()
    finally:
        supply.close()
        pool.shutdown()
        torch.set_num_threads(threads)  # new threads of the process would begin with the workers' number
