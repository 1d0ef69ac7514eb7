import threading
from collections.abc import Iterator

import pytest
import torch

from translate.search.search_loop import Supply, share_out


def _taken(supply: Supply[int]) -> Iterator[int]:
    while (item := supply.take()) is not None:
        yield item


@pytest.mark.parametrize(("items", "workers"), [(9, 1), (9, 2), (2, 3), (0, 2)])
def test_workers_share_the_items_and_change_no_thread_of_torch(items: int, workers: int) -> None:
    threads, together = torch.get_num_threads(), threading.Barrier(max(1, min(workers, items)))

    def work(supply: Supply[int]) -> Iterator[tuple[int, bool]]:
        together.wait(30)  # passed only by all at once
        for item in _taken(supply):
            yield item, torch.is_grad_enabled()

    with torch.no_grad():
        found = list(share_out(work, range(items), workers))
    assert sorted(found) == [(item, False) for item in range(items)]
    assert torch.get_num_threads() == threads


def test_an_error_ends_the_work_of_all() -> None:
    begun = []

    def work(supply: Supply[int]) -> Iterator[int]:
        for item in _taken(supply):
            begun.append(item)
            if item == 1:
                raise ValueError("of item 1")
            yield item

    with pytest.raises(ValueError, match="of item 1"):
        list(share_out(work, range(100_000), 2))
    assert len(begun) < 100_000
