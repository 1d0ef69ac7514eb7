import threading
from collections.abc import Iterator

import pytest
import torch

from translate.search import each_batch
from translate.search.workers import MAX_WORKERS

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(("threads", "batches", "workers", "each"), [
    (1, 9, 1, 1), (2, 9, 2, 1), (3, 2, 2, 1), (2, 1, 1, 2), (9, 20, MAX_WORKERS, 2),
])  # fmt: skip
def test_the_threads_are_shared_out_among_the_workers(
    threads: int, batches: int, workers: int, each: int
) -> None:
    torch.set_num_threads(threads)
    together = threading.Barrier(workers)  # passed only by as many at once

    def work(batch: int) -> tuple[int, int, bool]:
        if batch < workers:
            together.wait(30)
        return batch, torch.get_num_threads(), torch.is_grad_enabled()

    with torch.no_grad():
        found = list(each_batch(work, range(batches), CPU))
    assert found == [(batch, each, False) for batch in range(batches)]
    assert torch.get_num_threads() == threads
    later: list[int] = []
    thread = threading.Thread(target=lambda: later.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    assert later == [threads]


def test_an_error_ends_the_work() -> None:
    torch.set_num_threads(2)
    begun = []

    def work(batch: int) -> int:
        begun.append(batch)
        if batch == 1:
            raise ValueError("of batch 1")
        return batch

    with pytest.raises(ValueError, match="of batch 1"):
        list(each_batch(work, range(1000), CPU))
    assert len(begun) < 1000
    assert torch.get_num_threads() == 2


def test_nothing_to_do() -> None:
    torch.set_num_threads(2)
    assert list(each_batch(abs, [], CPU)) == []
