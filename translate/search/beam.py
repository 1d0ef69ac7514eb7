"""The search loop: sentences enter a running batch when there is room and leave it when they are done.

A beam of 1 is greedy search. :mod:`translate.search.sampling` draws at random in the same loop.

Shapes: B sentences, S source pieces, W hypotheses of a sentence, V vocabulary.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from torch import Tensor

from translate.config.search import SearchConfig
from translate.models import Seq2Seq
from translate.search.candidates import best_candidates, going_on
from translate.search.constraints import Constraints
from translate.search.hypothesis import Finished, Hypothesis, Request, Sentence
from translate.search.readers import Group, Reader
from translate.search.recording import Record
from translate.search.rules import IMPOSSIBLE, forbid
from translate.search.running import Chosen, Policy, RunningBatch
from translate.search.workers import Supply
from translate.text.tokenizer import EOS

Item = TypeVar("Item")


def search(
    supply: Supply[Item],
    begin: Callable[[Item], Group],
    config: SearchConfig,
    *,
    policy: Policy | None = None,
    record: Record | None = None,
) -> Iterator[Finished]:
    """Search sentences until there are no more; gives each as soon as it is done.

    Args:
        supply: items to take whenever there is room; other workers may take from it, too. Closing it ends
            the search at the next step.
        begin: the sentences of an item. They are encoded together and make their first step together; then
            each waits for a place in the running batch.
        config: see :class:`SearchConfig`.
        policy: how hypotheses are continued; by default a beam.
        record: the attention that hypotheses carry.
    """
    policy = policy or Beam(config)
    running: RunningBatch | None = None
    waiting: RunningBatch | None = None
    while not supply.closed:
        while running is None or running.wants_more:
            if waiting is None:
                item = supply.take()
                if item is None:
                    break
                waiting = RunningBatch(begin(item), config, policy, record)
                yield from waiting.step()
            if running is None:
                running, waiting = waiting, None
            elif waiting.live and not running.enter(waiting):
                break
            if waiting is not None and not waiting.live:
                waiting = None
        if running is None:
            return
        running.shrink()
        if running.live:
            yield from running.step()
        if not running.live:
            running = None


class Beam:
    """Continue the best hypotheses of each sentence; it is done when as many have ended as the beam is wide.

    Args:
        config: see :class:`SearchConfig`.
    """

    reorders = True

    def __init__(self, config: SearchConfig) -> None:
        self.config = config
        self.width = config.beam_size

    def choose(
        self,
        log_probabilities: Tensor,
        scores: Tensor,
        ids: Tensor,
        sentences: Sequence[Sentence | None],
        constraints: Constraints | None,
    ) -> Chosen:
        """See :class:`Policy`. Candidates that end and are among the first W end a hypothesis."""
        forbid(log_probabilities, ids, sentences, self.config)
        scores = scores.to(log_probabilities.dtype)
        # Twice the beam, so that a full beam is left whatever ends; for a beam of one, one is enough.
        count = 2 * self.width if self.width > 1 else 1
        find = best_candidates if constraints is None else constraints.candidates
        candidates = find(log_probabilities, scores, count)
        first = candidates.scores[:, : self.width]
        ends = (candidates.tokens[:, : self.width] == EOS) & (first > IMPOSSIBLE)
        slots, ranks = ends.nonzero(as_tuple=True)
        going = going_on(candidates, self.width) if self.width > 1 else candidates
        return Chosen(slots, candidates.origins[slots, ranks], first[slots, ranks], ranks, going)

    def finish(self, sentence: Sentence) -> list[Hypothesis]:
        """The best W hypotheses, best first."""
        found = [hypothesis for _, hypothesis in sentence.ended]
        return sorted(found, key=lambda hypothesis: -hypothesis.score)[: self.width]


def beam_search(
    model: Seq2Seq,
    source: Tensor,
    source_mask: Tensor | None,
    config: SearchConfig,
    *,
    requests: Sequence[Request] | None = None,
    others: Sequence[Reader] = (),
    policy: Policy | None = None,
    record: Record | None = None,
) -> list[list[Hypothesis]]:
    """The best ``beam_size`` translations of each sentence of one batch, best first.

    Args:
        model: in evaluation mode, on the device of ``source``.
        source: (B, S) ids, ending in end of sentence.
        source_mask: (B, S) bool, True = visible, or ``None``.
        config: see :class:`SearchConfig`.
        requests: one for each sentence; by default they ask for nothing.
        others: more models of an ensemble, with the same target vocabulary.
        policy, record: as :func:`search`.
    """
    count = len(source)
    readers = [Reader(model, source, source_mask), *others]
    group = Group(range(count), readers, requests or [Request()] * count)
    found = dict(search(Supply([group]), lambda item: item, config, policy=policy, record=record))
    return [found[row] for row in range(count)]
