"""Beam search of many batches, in which what is left of them goes on together.

A step costs much the same for three sentences as for ten. So when half of a batch is done the other half
waits until another batch has come to the same step, and both go on as one.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, NamedTuple, TypeVar

import torch

from translate.config.search import SearchConfig
from translate.search.batch_search import BatchSearch
from translate.search.beam import best_first
from translate.search.decoding import MAX_BATCH_PIECES
from translate.search.hypothesis import Hypothesis, Request
from translate.search.progress import Reader
from translate.search.workers import Supply

Item = TypeVar("Item")

MAX_WAITING = 3  # halves of batches, a bound on memory
NEAR = 4  # steps: rather than wait, a search goes on to one that waits so near


class Found(NamedTuple, Generic[Item]):
    """A batch, as its readers have encoded it, and the hypotheses of each sentence, best first."""

    item: Item
    readers: Sequence[Reader]
    hypotheses: list[list[Hypothesis]]


def beam_searches(
    supply: Supply[Item],
    begin: Callable[[Item], tuple[Sequence[Reader], Sequence[Request]]],
    config: SearchConfig,
    layer: int | None,
) -> Iterator[Found[Item]]:
    """Search each batch that there is, as :func:`beam_search` does; each is given when all of it is done.

    Args:
        supply: batches, which other workers may take from, too.
        begin: encodes a batch; and what its sentences ask for.
        config: see :class:`SearchConfig`.
        layer: whose attention to the source hypotheses shall have.
    """
    held: dict[int, tuple[Item, Sequence[Reader], list[list[Hypothesis]]]] = {}
    waiting: list[BatchSearch] = []
    number = 0
    while not supply.closed:
        item = supply.take()
        if item is not None:
            readers, requests = begin(item)
            search = BatchSearch(readers, config, requests, layer, number)
            held[number] = item, readers, list(search.finished)
            number += 1
        elif waiting:
            search = min(waiting, key=lambda each: each.length)
            waiting.remove(search)
        else:
            return
        _advance(search, waiting, supply, config)
        if search.searched:
            waiting.append(search)
        live = {owner for each in waiting for owner in each.live_owners}
        for done in sorted(held.keys() - live):
            item, readers, finished = held.pop(done)
            yield Found(item, readers, best_first(finished, config))


@torch.inference_mode()
def _advance(
    search: BatchSearch, waiting: list[BatchSearch], supply: Supply[Item], config: SearchConfig
) -> None:
    """Step until the search is done or had better wait; it takes in those of ``waiting`` that it meets."""
    while search.searched and not supply.closed:
        partners = [each for each in waiting if _fit(search, each, config)]
        met = next((each for each in partners if each.length == search.length), None)
        if met is not None:
            waiting.remove(met)
            search.join(met)
            continue
        if 2 * search.num_live <= search.full and search.joinable:
            if supply.empty:
                wait = any(each.length < search.length for each in partners)
            else:
                near = any(0 < each.length - search.length <= NEAR for each in partners)
                wait = len(waiting) < MAX_WAITING and not near
            if wait:
                break
        search.step()


def _fit(search: BatchSearch, other: BatchSearch, config: SearchConfig) -> bool:
    """Whether two searches would make one batch that is not too large."""
    count = search.num_live + other.num_live
    longest = max(each.num_source_places for each in (search, other))
    together = count <= config.batch_size and count * longest <= MAX_BATCH_PIECES
    alike = (search.weights is None) == (other.weights is None)
    return together and alike and search.joinable and other.joinable
