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
from translate.search.hypothesis import Finished, Hypothesis, SearchedSentence
from translate.search.recording import Record
from translate.search.rules import IMPOSSIBLE, forbid
from translate.search.running import Chosen, Policy, RunningBatch
from translate.search.sources import Reader, Request, SentenceGroup
from translate.search.workers import Supply
from translate.text.tokenizer import EOS

Item = TypeVar("Item")

MAX_PARKED = 3  # a bound on memory
NEAR = 4  # steps: rather than wait, a batch goes on to a parked one that is so near


def search(
    supply: Supply[Item],
    begin: Callable[[Item], SentenceGroup],
    config: SearchConfig,
    *,
    policy: Policy | None = None,
    record: Record | None = None,
    eager: bool = False,
) -> Iterator[Finished]:
    """Search sentences until there are no more; gives each as soon as it is done.

    A step costs much the same for three sentences as for ten. So when half of a batch is done, the other half
    is parked until a newer batch has come to the same step, and enters that one: sentences of the same age
    share all columns of their caches. With ``eager``, sentences enter as soon as there is room, at any age,
    which answers a newcomer sooner and costs about a tenth more time in all.

    Args:
        supply: items to take whenever there is room; other workers may take from it, too. Closing it ends
            the search at the next step.
        begin: the sentences of an item, which are encoded together and make their first step together.
        config: see :class:`SearchConfig`.
        policy: how hypotheses are continued; by default a beam.
        record: the attention that hypotheses carry.
        eager: whether sentences of different ages run together.
    """
    policy = policy or Beam(config)
    parked: list[RunningBatch] = []
    while not supply.closed:
        item = supply.take()
        if item is not None:
            running = RunningBatch(begin(item), config, policy, record)
        elif parked:
            running = parked.pop(parked.index(min(parked, key=lambda batch: batch.age)))
        else:
            return
        while running.live and not supply.closed:
            if eager and running.wants_more and (item := supply.take()) is not None:
                newer = RunningBatch(begin(item), config, policy, record)
                yield from newer.step()
                parked += [newer] if newer.live else []
            partner = next((batch for batch in parked if running.takes(batch, any_age=eager)), None)
            if partner is not None:
                running.enter(partner)
                parked = [batch for batch in parked if batch.live]
            elif not eager and _had_better_wait(running, parked, len(supply)):
                parked.append(running)
                break
            running.shrink()
            yield from running.step()
            supply.after_step(running)


def _had_better_wait(running: RunningBatch, parked: Sequence[RunningBatch], num_items: int) -> bool:
    """Whether the rest of a batch is parked for a newer one: of the ``num_items`` left, or parked itself."""
    if 2 * len(running.live) > running.full:
        return False
    partners = [batch for batch in parked if running.has_room(batch)]
    if not num_items:
        return any(batch.age < running.age for batch in partners)
    near = any(0 < batch.age - running.age <= NEAR for batch in partners)
    return len(parked) < MAX_PARKED and not near


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
        sentences: Sequence[SearchedSentence | None],
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

    def finish(self, sentence: SearchedSentence) -> list[Hypothesis]:
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
    group = SentenceGroup(range(count), readers, requests or [Request()] * count)
    found = dict(search(Supply([group]), lambda item: item, config, policy=policy, record=record))
    return [found[row] for row in range(count)]
