"""The search for one batch: encoded, searched and given back together."""

from collections.abc import Sequence

from torch import Tensor

from translate.config.search import SearchConfig
from translate.models import Seq2Seq
from translate.search.beam import Beam, Hypothesis
from translate.search.decoders import Record
from translate.search.search_loop import Supply, search
from translate.search.sources import Reader, Request, SentenceGroup


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
