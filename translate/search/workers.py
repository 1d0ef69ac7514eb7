"""Batches side by side: a step of a search is many small operations, which threads share badly."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Batch = TypeVar("Batch")
Found = TypeVar("Found")

MAX_WORKERS = 4  # Python runs one thread at a time, and about a quarter of a step is Python


def each_batch(
    work: Callable[[Batch], Found], batches: Sequence[Batch], device: torch.device
) -> Iterator[Found]:
    """``work`` of each batch, in order; on a CPU by as many workers as torch has threads, at most 4.

    The workers share the threads out among themselves. Gradients are off in each of them.
    """
    threads = torch.get_num_threads()
    workers = min(threads, len(batches), MAX_WORKERS)
    if device.type != "cpu" or workers < 2:
        yield from map(work, batches)
        return

    def begin() -> None:
        torch.set_num_threads(threads // workers)  # of this worker alone

    def run(batch: Batch) -> Found:
        with torch.no_grad():
            return work(batch)

    pool = ThreadPoolExecutor(workers, "translate", begin)
    try:
        yield from pool.map(run, batches)
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)  # new threads of the process would begin with the workers' number
