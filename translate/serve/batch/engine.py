"""The engine: takes calls in, lets workers search their sentences, and hands the translations out."""

import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar

import torch

from translate.search import Finished, search
from translate.serve.batch.calls import Calculation, LaneKey, QueuedSentence, ServedCall
from translate.serve.batch.elsewhere import search_elsewhere
from translate.serve.batch.lanes import Feed, Lane, begin
from translate.serve.batch.turns import Party, Turns
from translate.serve.metrics import Meter
from translate.translation import AT_LIMIT, UNMET
from translate.translator import Translator

Result = TypeVar("Result")

MAX_LANES = 8  # that run side by side, since each has a batch in memory; others wait
MAX_WAIT = 60  # seconds that a client is told to wait, at most


class BusyError(Exception):
    """The queue is full.

    Args:
        retry_after: seconds until there is probably room.
    """

    def __init__(self, retry_after: int) -> None:
        super().__init__(f"the queue is full; try again in {retry_after} s")
        self.retry_after = retry_after


class StoppedError(Exception):
    """The server stops before the translation is done."""


class LostError(Exception):
    """``ends`` processes have ended, one after another, while they worked on the same."""

    def __init__(self, ends: int) -> None:
        super().__init__(f"{ends} processes have ended while they translated this")


class Engine:
    """One running batch for each lane, which the sentences of all calls enter and leave at any step.

    Args:
        workers: threads that compute side by side.
        threads: of torch, which the workers share.
        max_pieces: source pieces that may wait or run.
        metrics: to count in.
    """

    def __init__(self, workers: int, threads: int, max_pieces: int, metrics: Meter) -> None:
        self.workers = workers
        self.max_pieces = max_pieces
        self.turns = Turns(workers)
        self._metrics = metrics
        self._lock = threading.Lock()
        self._lanes: dict[LaneKey, Lane] = {}
        self._unfinished: dict[ServedCall, set[QueuedSentence]] = {}
        self._pieces = 0
        self._rate = 0.0  # pieces a second, recently
        self._counted = time.monotonic()
        self._stopped = False
        self._alone = Party()

        def begin() -> None:
            torch.set_num_threads(max(1, threads // workers))  # of this worker alone

        self._pool = ThreadPoolExecutor(workers + MAX_LANES, "translate", begin)
        self._calculator = ThreadPoolExecutor(1, "calculate", begin)

    @property
    def works(self) -> bool:
        """Whether anybody is there to translate; what is asked meanwhile waits."""
        return True

    @property
    def pieces(self) -> int:
        """Source pieces that wait or run."""
        return self._pieces

    def submit(self, call: ServedCall) -> int:
        """Queue the sentences of a call and return how many they are; blank ones are none.

        Raises:
            BusyError: if the queue has no room for them.
            StoppedError: if the server stops.
        """
        jobs = call.jobs()
        cost = sum(job.cost for job in jobs)
        if not jobs:
            return 0
        with self._lock:
            self._admit(cost)
            key = call.lane(jobs)
            lane = self._lanes.setdefault(key, Lane(key))
            lane.add(jobs)
            self._unfinished[call] = set(jobs)
            self._count(cost)
            self._start_workers()
        return len(jobs)

    def calculate(self, wanted: Calculation[Result]) -> "Future[Result]":
        """Compute something without a search, one after another, in turn with the batches.

        Raises:
            BusyError, StoppedError: as :meth:`submit`.
        """
        with self._lock:
            self._admit(wanted.cost)
            self._count(wanted.cost)

        def end(_: "Future[Result]") -> None:
            with self._lock:
                self._count(-wanted.cost)

        future = self._calculation(wanted)
        future.add_done_callback(end)
        return future

    def _calculation(self, wanted: Calculation[Result]) -> "Future[Result]":
        def run() -> Result:
            self.turns.take(self._alone)
            try:
                with torch.no_grad():
                    return wanted.run()
            finally:
                self.turns.give(self._alone)

        return self._calculator.submit(run)

    def cancel(self, call: ServedCall) -> None:
        """Nobody waits for the call any more: its sentences leave the queue and the batch."""
        call.cancelled = True
        with self._lock:
            jobs = self._unfinished.pop(call, set())
            self._count(-sum(job.cost for job in jobs))
            if jobs:
                self._drop(call)
        if jobs:
            self._metrics.cancelled(call.model, len(jobs))

    def stop(self) -> None:
        """End all calls with :class:`StoppedError`; takes no more."""
        with self._lock:
            self._stopped = True
            calls = list(self._unfinished)
        for call in calls:
            self.cancel(call)
            call.receiver.fail(StoppedError())

    def close(self) -> None:
        """Stop, and wait for the workers."""
        self.stop()
        for pool in (self._pool, self._calculator):
            pool.shutdown(cancel_futures=True)

    def start(self, translators: Mapping[str, Translator]) -> Mapping[str, Translator]:
        """Take the models that calls name; gives those to be used from now on."""
        return translators

    def _drop(self, call: ServedCall) -> None:
        """A call is cancelled before its end. The lock is held; batches see it at their next step."""

    def _admit(self, cost: int) -> None:
        if self._stopped:
            raise StoppedError
        if self._pieces and self._pieces + cost > self.max_pieces:
            raise BusyError(self._retry_after(cost))

    def _count(self, pieces: int) -> None:
        self._pieces += pieces
        self._metrics.holds(self._pieces)

    def _retry_after(self, cost: int) -> int:
        surplus = self._pieces + cost - self.max_pieces
        return min(MAX_WAIT, 1 + int(surplus / self._rate)) if self._rate else 1

    def _start_workers(self) -> None:
        """Give each lane with a queue a worker, and more where workers are idle. The lock is held."""
        running = sum(lane.threads for lane in self._lanes.values())
        active = sum(lane.threads > 0 for lane in self._lanes.values())
        for lane in self._lanes.values():
            if not (len(lane) and self._searches(lane)):
                continue
            alone = lane.threads == 0 and active < MAX_LANES
            helped = 0 < lane.threads < self.workers and lane.keeps_busy(lane.threads + 1)
            if alone or (helped and running < self.workers):
                active += alone
                running += 1
                lane.threads += 1
                self._pool.submit(self._work, lane)

    def _searches(self, lane: Lane) -> bool:
        """Whether threads of this process search its sentences."""
        return True

    def _work(self, lane: Lane) -> None:
        """Search the sentences of a lane until its queue is empty, or other workers are enough for it."""
        feed = Feed(lane, self._lock, self.turns, self._metrics)
        with torch.no_grad():
            while self._goes_on(lane):
                self.turns.take(lane)
                try:
                    for found in self._search(feed):
                        self._finish(feed, found)
                except Exception as error:  # a bug of ours, or no memory
                    self._failed(feed, error)
                finally:
                    self.turns.give(lane)

    def _goes_on(self, lane: Lane) -> bool:
        with self._lock:
            if len(lane) and lane.keeps_busy(lane.threads):
                return True
            lane.threads -= 1
            if not lane.threads:
                del self._lanes[lane.key]
            self._start_workers()
            return False

    def _search(self, feed: Feed) -> Iterator[Finished]:
        key = feed.lane.key
        if key.engine != "torch":
            return search_elsewhere(feed, self._leave_to_torch)
        # Of a document all is there at once, and nobody waits for its first sentence.
        return search(feed, begin, key.config, record=key.record, eager=not key.bulk)

    def _leave_to_torch(self, job: QueuedSentence, key: LaneKey) -> None:
        """Queue a sentence that another engine has given up."""
        job.call.warnings[AT_LIMIT] += 1
        with self._lock:
            own = replace(key, engine="torch")
            self._lanes.setdefault(own, Lane(own)).again(job)
            self._start_workers()

    def _finish(self, feed: Feed, found: Finished) -> None:
        """Hand out the translation of a sentence."""
        job: QueuedSentence = found.key
        feed.leave([job])
        call = job.call
        if call.cancelled:
            return
        if not found.hypotheses and job.met and job.request.phrases:
            job.met = False
            with self._lock:
                feed.lane.again(job)
            return
        try:
            _, result = next(call.work.results([found._replace(key=job.index)], engine=feed.lane.key.engine))
        except Exception as error:
            self.cancel(call)
            call.receiver.fail(error)
            return
        if not job.met:
            call.warnings[UNMET] += 1
        self._done(job)
        self._metrics.translated(call.model, job.cost, len(result.tokens) + 1)
        call.receiver.receive(job.index, result)

    def _done(self, job: QueuedSentence) -> None:
        with self._lock:
            jobs = self._unfinished.get(job.call)
            if jobs is None or job not in jobs:
                return
            jobs.discard(job)
            if not jobs:
                del self._unfinished[job.call]
            self._count(-job.cost)
            now = time.monotonic()
            seconds, self._counted = max(now - self._counted, 1e-6), now
            share = min(1.0, seconds)  # of what is known so far, the last second's worth counts
            self._rate += share * (job.cost / seconds - self._rate)

    def _failed(self, feed: Feed, error: Exception) -> None:
        """Give each sentence of a batch that failed another try, alone; end the calls whose second it was."""
        jobs = list(feed.live)
        feed.leave(jobs)
        for job in jobs:
            job.failures += 1
            if job.failures > 1 and not job.call.cancelled:
                self.cancel(job.call)
                job.call.receiver.fail(error)
        with self._lock:
            for job in jobs:
                if not job.call.cancelled:
                    feed.lane.again(job)
