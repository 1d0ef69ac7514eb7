"""Lanes: sentences that may run in one batch, in the order in which they enter it."""

import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from translate.search.running import RunningBatch
from translate.search.search_loop import Supply
from translate.search.sources import SentenceGroup, most_sentences, read_sources
from translate.serve.calls import LaneKey, QueuedSentence, ServedCall
from translate.serve.monitoring import Metrics

# While somebody waits for a sentence, documents have one part in five of the time.
SENTENCE_WEIGHT, DOCUMENT_WEIGHT = 4.0, 1.0
# Newcomers are encoded together and make a first step of their own, which costs nearly as much for one as for
# ten. So they enter when they are a share of the batch, or have waited for some of its steps.
GROUP, PATIENCE = 4, 2
TOGETHER = 16  # sentences of a batch of CTranslate2, which answers them all at its end


class Party:
    """One of those who share torch's time.

    Attributes:
        weight: its share in relation to others.
        spent: seconds that it has computed, divided by the weight.
    """

    def __init__(self, weight: float = SENTENCE_WEIGHT) -> None:
        self.weight = weight
        self.spent = 0.0


class Turns:
    """One party computes at a time; of those that wait, the one that has spent least is next.

    A party asks for its next turn after each step of its batch, so that a sentence never waits for more than
    a step of the others, and a party with much to do leaves others their shares (fair queueing by virtual
    time, Demers et al. 1989). A party that was idle has saved nothing up.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: list[Party] = []
        self._busy = False
        self._began = 0.0  # the turn
        self._now = 0.0  # time spent of the party that came last

    @contextmanager
    def turn(self, party: Party) -> Iterator[None]:
        """Wait for a turn, and end it behind the block."""
        party.spent = max(party.spent, self._now)
        self._take(party)
        try:
            yield
        finally:
            self._give(party)

    def renew(self, party: Party) -> None:
        """Let another party compute if it has spent less."""
        self._give(party)
        self._take(party)

    def _take(self, party: Party) -> None:
        with self._changed:
            self._waiting.append(party)
            self._changed.wait_for(
                lambda: not self._busy and min(self._waiting, key=lambda other: other.spent) is party
            )
            self._waiting.remove(party)
            self._busy = True
            self._now = max(self._now, party.spent)
            self._began = time.perf_counter()

    def _give(self, party: Party) -> None:
        with self._changed:
            party.spent += (time.perf_counter() - self._began) / party.weight
            self._busy = False
            self._changed.notify_all()


class Lane(Party):
    """The queue of the sentences that share a batch. Whoever uses it holds the engine's lock.

    Calls give a sentence in turn, whichever came first and however long they are, so every sentence has its
    turn at last, however many others come.

    Args:
        key: what the sentences share.
        most_threads: that may search its sentences at a time.
    """

    def __init__(self, key: LaneKey, most_threads: int = 1) -> None:
        super().__init__(DOCUMENT_WEIGHT if key.bulk else SENTENCE_WEIGHT)
        self.key = key
        self.most_threads = most_threads
        self.threads = 0
        self._waiting: dict[ServedCall, deque[QueuedSentence]] = {}  # the call whose turn is next comes first

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    @property
    def size(self) -> int:
        """The slots of its batch."""
        most = self.key.config.batch_size
        return most if self.key.engine == "torch" else min(most, TOGETHER)

    def add(self, jobs: Iterable[QueuedSentence]) -> None:
        """Queue sentences, each behind the others of its call."""
        for job in jobs:
            self._waiting.setdefault(job.call, deque()).append(job)

    def next(self, most: int, *, alone: bool = True) -> list[QueuedSentence]:
        """Up to ``most`` sentences to encode together; none if nobody waits.

        A sentence whose batch has failed comes alone, and only to an empty batch.
        """
        found: list[QueuedSentence] = []
        longest = recorded = cached = 0
        while self._waiting and len(found) < most:
            call, jobs = next(iter(self._waiting.items()))
            if call.cancelled:
                del self._waiting[call]
                continue
            job = jobs[0]
            if job.failures and (found or not alone):
                break
            weights, numbers = job.call.translation.held(job.index)
            longest, recorded, cached = max(longest, job.cost), max(recorded, weights), max(cached, numbers)
            if found and most_sentences(most, longest, recorded, cached) <= len(found):
                break
            found.append(jobs.popleft())
            del self._waiting[call]
            if jobs:
                self._waiting[call] = jobs
            if job.failures:
                break
        return found


def begin(jobs: Sequence[QueuedSentence]) -> SentenceGroup:
    """The sentences of jobs, to be encoded together."""
    models = jobs[0].call.translation.models
    ids = [list(side) for side in zip(*(job.attempt.ids for job in jobs), strict=True)]
    return SentenceGroup(jobs, read_sources(models, ids), [job.attempt.request for job in jobs])


class Feed(Supply[list[QueuedSentence]]):
    """The sentences that one thread takes from a lane, and those that run in its batch.

    Args:
        lane: that it takes from.
        lock: the engine's.
        turns: where it asks for the next turn after each step of torch's search.
        metrics: that count the steps.
    """

    def __init__(self, lane: Lane, lock: threading.Lock, turns: Turns, metrics: Metrics) -> None:
        super().__init__(())
        self.lane = lane
        self.live: set[QueuedSentence] = set()
        self._gave_none = False
        self._held = 0  # steps for which newcomers have been let wait
        self._lane_lock, self._turns, self._metrics = lock, turns, metrics

    def __len__(self) -> int:
        """Sentences that wait; none as long as :meth:`take` would not give them before another step."""
        return 0 if self._gave_none else len(self.lane)

    def take(self) -> list[QueuedSentence] | None:
        """The next sentences, up to the room in the batch; ``None`` if nobody waits."""
        bulk = self.lane.key.bulk
        with self._lane_lock:
            waits = any(job.failures for job in self.live) or not (bulk or self._lets_in(len(self.lane)))
            # Sentences of documents begin together, in a batch of their own.
            most = self.lane.size - (0 if bulk else len(self.live))
            jobs = [] if waits else self.lane.next(most, alone=not self.live)
        self._gave_none = not jobs
        now, waiting = time.monotonic(), self._metrics.waiting.labels(self.lane.key.model)
        for job in jobs:
            waiting.observe(now - job.arrived)
        self.live.update(jobs)
        self._metrics.in_batch.labels(self.lane.key.model).inc(len(jobs))
        return jobs or None

    def _lets_in(self, waiting: int) -> bool:
        """Whether sentences that wait enter now."""
        if waiting and waiting * GROUP < len(self.live) and self._held < PATIENCE:
            self._held += 1
            return False
        self._held = 0
        return True

    def leave(self, jobs: Iterable[QueuedSentence]) -> None:
        """Sentences are no longer in the batch."""
        gone = self.live.intersection(jobs)
        self.live -= gone
        self._metrics.in_batch.labels(self.lane.key.model).dec(len(gone))

    def after_step(self, running: RunningBatch) -> None:
        """Drop the sentences that nobody waits for, and wait for the next turn."""
        gone = {sentence.key for _, sentence in running.live if sentence.key.call.cancelled}
        if gone:
            running.drop(gone)
            self.leave(gone)
        self._gave_none = False
        self._turns.renew(self.lane)
