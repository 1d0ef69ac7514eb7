"""Lanes: sentences that may run in one batch, in the order in which they enter it."""

import heapq
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence

from translate.search import RunningBatch, SentenceGroup, Supply, most_sentences, read_sources
from translate.serve.batch.calls import LaneKey, QueuedSentence, ServedCall
from translate.serve.batch.turns import Party, Turns
from translate.serve.metrics import Meter

# While somebody waits for a sentence, documents have one part in five of the time.
SENTENCE_WEIGHT, DOCUMENT_WEIGHT = 4.0, 1.0
# Newcomers are encoded together and make a first step of their own, which costs nearly as much for one as for
# ten. So they enter when they are a share of the batch, or have waited for some of its steps.
GROUP, PATIENCE = 4, 2
# A step costs much the same for three sentences as for ten: a further worker joins a lane only if that many
# sentences are there for each that works, or if steps are long, since then their costs are not Python's.
CROWD, LONG_STEP = 32, 0.01  # sentences, seconds
TOGETHER = 16  # sentences of a batch of another engine, which answers them all at its end
SMOOTH = 0.1  # of the last step in the mean


class Lane(Party):
    """The queue of the sentences that share a batch. Whoever uses it holds the engine's lock.

    Sentences leave in the order of their virtual start: a call's next sentence starts where its last one
    ended, in pieces. Virtual time passes with each piece that leaves, the more slowly the more calls wait. So
    calls share the batch piece by piece, whichever came first and however long they are (fair queueing,
    Demers et al. 1989), and every sentence has its turn at last, however many others come.

    Args:
        key: what the sentences share.
    """

    def __init__(self, key: LaneKey) -> None:
        super().__init__(DOCUMENT_WEIGHT if key.bulk else SENTENCE_WEIGHT, patient=key.bulk)
        self.key = key
        self.threads = 0
        self.running = 0  # sentences in batches
        self.step_seconds = 0.0  # of a step, lately
        self._queue: list[tuple[float, int, QueuedSentence]] = []
        self._count = 0
        self._now = 0.0  # virtual time, in pieces
        self._calls: Counter[ServedCall] = Counter()  # sentences of each that wait

    def __len__(self) -> int:
        return len(self._queue)

    @property
    def size(self) -> int:
        """The most sentences of a batch."""
        most = self.key.config.batch_size
        return most if self.key.engine == "torch" else min(most, TOGETHER)

    def keeps_busy(self, workers: int) -> bool:
        """Whether its sentences are worth the steps of so many workers."""
        if self.key.engine != "torch":  # no worker of which needs Python's lock
            return True
        crowded = self.running + len(self) >= CROWD * (workers - 1)
        return workers == 1 or crowded or self.step_seconds > LONG_STEP

    def add(self, jobs: Sequence[QueuedSentence]) -> None:
        """Queue the sentences of one call."""
        start = self._now
        for job in jobs:
            job.turn = start
            start += job.cost
            self._push(job)

    def again(self, job: QueuedSentence) -> None:
        """Queue a sentence that has had its turn."""
        self._push(job)

    def next(self, most: int, *, alone: bool = True) -> list[QueuedSentence]:
        """Up to ``most`` sentences to encode together; none if nobody waits.

        A sentence whose batch has failed comes alone, and only to an empty batch.
        """
        found: list[QueuedSentence] = []
        longest = recorded = cached = 0
        while self._queue and len(found) < most:
            job = self._queue[0][2]
            if job.call.cancelled:
                self._pop()
                continue
            if job.failures and (found or not alone):
                break
            weights, numbers = job.held(self.key.record)
            longest, recorded, cached = max(longest, job.cost), max(recorded, weights), max(cached, numbers)
            if found and most_sentences(most, longest, recorded, cached) <= len(found):
                break
            self._now += job.cost / len(self._calls)
            self._pop()
            found.append(job)
            if job.failures:
                break
        return found

    def _push(self, job: QueuedSentence) -> None:
        self._count += 1
        self._calls[job.call] += 1
        heapq.heappush(self._queue, (job.turn, self._count, job))

    def _pop(self) -> None:
        job = heapq.heappop(self._queue)[2]
        self._calls[job.call] -= 1
        if not self._calls[job.call]:
            del self._calls[job.call]


def begin(jobs: Sequence[QueuedSentence]) -> SentenceGroup:
    """The sentences of jobs, to be encoded together."""
    models = jobs[0].call.work.models
    ids = [list(each) for each in zip(*(job.ids() for job in jobs), strict=True)]
    return SentenceGroup(jobs, read_sources(models, ids), [job.request for job in jobs])


class Feed(Supply[list[QueuedSentence]]):
    """What one worker takes from a lane, and the sentences that run in its batch.

    Args:
        lane: that it takes from.
        lock: the engine's.
        turns: where it asks for the next turn after each step.
        metrics: that count the steps.
    """

    def __init__(self, lane: Lane, lock: threading.Lock, turns: Turns, metrics: Meter) -> None:
        super().__init__(())
        self.lane = lane
        self.live: set[QueuedSentence] = set()
        self._gave_none = False
        self._held = 0  # steps for which newcomers have been let wait
        self._began = time.perf_counter()  # the step
        self._lane_lock, self._turns, self._metrics = lock, turns, metrics

    def __len__(self) -> int:
        """Sentences that wait; none as long as :meth:`take` would not give them before another step."""
        return 0 if self._gave_none else len(self.lane)

    def take(self) -> list[QueuedSentence] | None:
        """The next sentences, as many as there is room for; ``None`` if nobody waits."""
        jobs = self._next()
        self._gave_none = not jobs
        now = time.monotonic()
        for job in jobs:
            self._metrics.waited(self.lane.key.model, now - job.arrived)
        self.live.update(jobs)
        self._metrics.in_batch(self.lane.key.model, len(jobs))
        return jobs or None

    def _next(self) -> list[QueuedSentence]:
        if any(job.failures for job in self.live):
            return []
        key = self.lane.key
        with self._lane_lock:
            if not key.bulk and (self._had_better_end() or not self._lets_in(len(self.lane))):
                return []
            # Sentences of documents begin together, in a batch of their own.
            most = self.lane.size - (0 if key.bulk else len(self.live))
            jobs = self.lane.next(most, alone=not self.live)
            self.lane.running += len(jobs)
        return jobs

    def _had_better_end(self) -> bool:
        """Whether newcomers are left to another worker, whose batch is larger."""
        lane = self.lane
        return not lane.keeps_busy(lane.threads) and len(self.live) * lane.threads < lane.running

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
        with self._lane_lock:
            self.lane.running -= len(gone)
        self._metrics.in_batch(self.lane.key.model, -len(gone))

    def after_step(self, running: RunningBatch) -> None:
        """Drop the sentences that nobody waits for, show those that grow, and wait for the next turn."""
        gone = {sentence.key for _, sentence in running.live if sentence.key.call.cancelled}
        if gone:
            running.drop(gone)
            self.leave(gone)
        for slot, sentence in running.live:
            job = sentence.key
            if job.call.growing and sentence.length > 1:
                job.call.receiver.grow(job.index, running.ids[slot, 0, 1 - sentence.length :].tolist())
        self.after(len(running.live))

    def after(self, live: int) -> None:
        """A step of ``live`` sentences is done; wait for the next turn."""
        self._gave_none = False
        self._metrics.stepped(self.lane.key.model, live, self.lane.size)
        seconds = time.perf_counter() - self._began
        self.lane.step_seconds += SMOOTH * (seconds - self.lane.step_seconds)
        self._turns.renew(self.lane)
        self._began = time.perf_counter()
