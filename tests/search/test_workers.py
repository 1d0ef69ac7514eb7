import threading
from collections.abc import Iterator

import pytest
import torch

from translate.search import Supply, share_out
from translate.search.workers import MAX_WORKERS

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def _taken(supply: Supply[int]) -> Iterator[int]:
    while (item := supply.take()) is not None:
        yield item


@pytest.mark.parametrize(("threads", "items", "workers", "each"), [
    (1, 9, 1, 1), (2, 9, 2, 1), (3, 2, 2, 1), (2, 1, 1, 2), (9, 20, MAX_WORKERS, 2),
])  # fmt: skip
def test_the_threads_are_shared_out_among_the_workers(
    threads: int, items: int, workers: int, each: int
) -> None:
    torch.set_num_threads(threads)
    together = threading.Barrier(workers)  # passed only by as many at once

    def work(supply: Supply[int]) -> Iterator[tuple[int, int, bool]]:
        together.wait(30)
        for item in _taken(supply):
            yield item, torch.get_num_threads(), torch.is_grad_enabled()

    with torch.no_grad():
        found = list(share_out(work, range(items), CPU))
    assert sorted(found) == [(item, each, False) for item in range(items)]
    assert torch.get_num_threads() == threads
    later: list[int] = []
    thread = threading.Thread(target=lambda: later.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    assert later == [threads]


def test_an_error_ends_the_work_of_all() -> None:
    torch.set_num_threads(2)
    begun = []

    def work(supply: Supply[int]) -> Iterator[int]:
        for item in _taken(supply):
            begun.append(item)
            if item == 1:
                raise ValueError("of item 1")
            yield item

    with pytest.raises(ValueError, match="of item 1"):
        list(share_out(work, range(100_000), CPU))
    assert len(begun) < 100_000
    assert torch.get_num_threads() == 2


def test_nothing_to_do() -> None:
    torch.set_num_threads(2)
    assert list(share_out(_taken, [], CPU)) == []
