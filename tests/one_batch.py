"""The search for one batch: encoded, searched and given back together."""

from collections.abc import Sequence

from torch import Tensor

from translate.config.search import SearchConfig
from translate.models import Seq2Seq
from translate.search import Beam, Hypothesis, Record, Request, SentenceGroup, Supply, search
from translate.search.sources import Reader


def beam_search(
    model: Seq2Seq,
    source: Tensor,
    source_mask: Tensor | None,
    config: SearchConfig,
    *,
    requests: Sequence[Request] | None = None,
    others: Sequence[Reader] = (),
    policy: Beam | None = None,
    record: Record | None = None,
) -> list[list[Hypothesis]]:
    """The best translations of each sentence, best first."""
    count = len(source)
    readers = [Reader(model, source, source_mask), *others]
    group = SentenceGroup(range(count), readers, requests or [Request()] * count)
    found = dict(search(Supply([group]), lambda item: item, config, policy=policy, record=record))
    return [found[row] for row in range(count)]
