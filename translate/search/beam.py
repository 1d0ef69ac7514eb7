"""Beam search; a beam of 1 is greedy search.

Shapes: B sentences, S source pieces.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from translate.config.search import SearchConfig
from translate.models import Encoded, Seq2Seq
from translate.search.batch_search import BatchSearch
from translate.search.hypothesis import Hypothesis, Request
from translate.search.progress import Reader


@torch.inference_mode()
def beam_search(
    model: Seq2Seq,
    source: Tensor,
    source_mask: Tensor | None,
    config: SearchConfig,
    *,
    requests: Sequence[Request] | None = None,
    others: Sequence[Reader] = (),
    encoded: Encoded | None = None,
    layer: int | None = None,
) -> list[list[Hypothesis]]:
    """The best ``beam_size`` translations of each sentence, best first.

    A sentence is done when as many hypotheses as the beam is wide have ended; it then leaves the batch.

    Args:
        model: in evaluation mode, on the device of ``source``.
        source: (B, S) ids, ending in end of sentence.
        source_mask: (B, S) bool, True = visible, or ``None``.
        config: see :class:`SearchConfig`.
        requests: what the sentences ask for; nothing by default.
        others: more models of an ensemble, with the same target vocabulary.
        encoded: of ``model`` and ``source``, where it is at hand.
        layer: whose attention to the source hypotheses shall have; they do without it where a batch is so
            long that it would take much memory.
    """
    readers = [Reader(model, source, source_mask, encoded), *others]
    search = BatchSearch(readers, config, requests or [Request()] * len(source), layer)
    while search.searched:
        search.step()
    return best_first(search.finished, config)


def best_first(finished: Sequence[list[Hypothesis]], config: SearchConfig) -> list[list[Hypothesis]]:
    """The best ``beam_size`` hypotheses of each sentence, of those that have ended."""
    return [sorted(found, key=lambda each: -each.score)[: config.beam_size] for found in finished]
