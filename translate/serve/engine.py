"""The engine: takes calls in, searches their sentences in running batches, and hands the translations out."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import InvalidStateError, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

import torch

from translate.search.beam import Finished
from translate.search.ctranslate2.ctranslate2_search import MAX_WORKERS
from translate.search.search_loop import search
from translate.serve.calls import LaneKey, QueuedSentence, ServedCall
from translate.serve.lanes import Feed, Lane, Party, Turns, begin
from translate.serve.monitoring import Metrics
from translate.serve.web.requests import RefusalError, stopping
from translate.translation_call import AT_LIMIT

Result = TypeVar("Result")

MAX_LANES = 8  # that run side by side, since each has a batch in memory; others wait


class Engine:
    """A running batch for every lane, which the sentences of all calls enter and leave at any step.

    Torch computes for one lane at a time, step by step in turn. CTranslate2 computes beside it, without
    Python's lock: its lanes have as many threads as it has workers.

    Args:
        threads: of torch.
        max_pieces: source pieces that may wait or run.
        metrics: to count in.
    """

    def __init__(self, threads: int, max_pieces: int, metrics: Metrics) -> None:
        self.max_pieces = max_pieces
        self._turns = Turns()
        self._metrics = metrics
        self._lock = threading.Lock()
        self._lanes: dict[LaneKey, Lane] = {}
        self._unfinished: dict[ServedCall, set[QueuedSentence]] = {}
        self.pieces = 0  # of sources, that wait or run
        metrics.queued.set_function(lambda: self.pieces)
        self._stopped = False
        self._threads = threads
        self._pool = ThreadPoolExecutor(MAX_LANES * MAX_WORKERS, "translate")

    def submit(self, call: ServedCall) -> None:
        """Queue the sentences of a call that are not blank.

        Raises:
            RefusalError: if the queue has no room for them, or the server stops.
        """
        jobs = call.jobs()
        cost = sum(job.cost for job in jobs)
        if not jobs:
            call.future.set_result(call.results)
            return
        with self._lock:
            self._admit(cost)
            self._unfinished[call] = set(jobs)
            self._lane(call.lane(jobs), call).add(jobs)
            self._start_threads()

    def calculate(self, cost: int, function: Callable[[], Result]) -> Result:
        """Compute something without a search, in turn with the batches, in the thread of the caller.

        Args:
            cost: pieces that it reads.
            function: gives the result.

        Raises:
            RefusalError: as :meth:`submit`.
        """
        with self._lock:
            self._admit(cost)
        try:
            with self._turns.turn(Party()), torch.no_grad():
                torch.set_num_threads(self._threads)
                return function()
        finally:
            with self._lock:
                self.pieces -= cost

    def cancel(self, call: ServedCall) -> None:
        """Give a call up: its sentences leave the queue, and the batch at its next step."""
        call.cancelled = True
        with self._lock:
            jobs = self._unfinished.pop(call, set())
            self.pieces -= sum(job.cost for job in jobs)
        if jobs:
            self._metrics.cancelled.labels(call.model).inc(len(jobs))

    def close(self) -> None:
        """Refuse all calls, take no more, and wait for the threads."""
        with self._lock:
            self._stopped = True
            calls = list(self._unfinished)
        for call in calls:
            self._fail(call, stopping())
        self._pool.shutdown(cancel_futures=True)

    def _fail(self, call: ServedCall, error: Exception) -> None:
        self.cancel(call)
        with suppress(InvalidStateError):  # nobody waits any more
            call.future.set_exception(error)

    def _admit(self, cost: int) -> None:
        if self._stopped:
            raise stopping()
        if self.pieces and self.pieces + cost > self.max_pieces:
            raise RefusalError.for_now(429, "the queue is full; try again in a few seconds", 5)
        self.pieces += cost

    def _lane(self, key: LaneKey, call: ServedCall) -> Lane:
        """The lane of a key. The lock is held."""
        if key not in self._lanes:
            engine = call.translation.engine
            threads = 1 if engine is None or key.engine == "torch" else engine.translator.num_translators
            # Of several workers, documents leave one to sentences.
            self._lanes[key] = Lane(key, max(1, threads - 1) if key.bulk else threads)
        return self._lanes[key]

    def _start_threads(self) -> None:
        """Give each lane with a queue a thread, and more where they help. The lock is held."""
        active = sum(lane.threads > 0 for lane in self._lanes.values())
        for lane in self._lanes.values():
            if lane.threads < min(len(lane), lane.most_threads) and (lane.threads or active < MAX_LANES):
                active += lane.threads == 0
                lane.threads += 1
                self._pool.submit(self._work, lane)

    def _work(self, lane: Lane) -> None:
        """Search the sentences of a lane until its queue is empty."""
        feed = Feed(lane, self._lock, self._turns, self._metrics)
        # A number of each thread's own. CTranslate2's workers have the cores already.
        torch.set_num_threads(self._threads if lane.key.engine == "torch" else 1)
        with torch.no_grad():
            while self._goes_on(lane):
                try:
                    for found in self._search(feed):
                        self._finish(feed, found)
                except Exception as error:  # a bug of ours, or no memory
                    self._failed(feed, error)

    def _goes_on(self, lane: Lane) -> bool:
        with self._lock:
            if len(lane):
                self._start_threads()
                return True
            lane.threads -= 1
            if not lane.threads:
                del self._lanes[lane.key]
            self._start_threads()
            return False

    def _search(self, feed: Feed) -> Iterator[Finished]:
        key = feed.lane.key
        if key.engine != "torch":
            yield from self._search_by_ctranslate2(feed)
            return
        with self._turns.turn(feed.lane):
            # Of a document all is there at once, and nobody waits for its first sentence.
            yield from search(feed, begin, key.config, record=key.record, eager=not key.bulk)

    def _search_by_ctranslate2(self, feed: Feed) -> Iterator[Finished]:
        """Search batch by batch until nobody waits; whoever waits when a worker is free enters the next."""
        key = feed.lane.key
        while jobs := feed.take():
            engine = jobs[0].call.translation.engine
            assert engine is not None
            most = max(job.call.translation.options.n_best for job in jobs)
            sources, group = [job.attempt.pieces.ids for job in jobs], [range(len(jobs))]
            choice = None if key.record is None else jobs[0].call.translation.choice
            for found in engine.search(group, sources, key.config, n_best=most, choice=choice):
                if found.hypotheses:
                    yield found._replace(key=jobs[found.key])
                else:
                    self._leave_to_torch(jobs[found.key], feed)

    def _leave_to_torch(self, job: QueuedSentence, feed: Feed) -> None:
        """Queue a sentence that CTranslate2 would break off."""
        feed.leave([job])
        job.call.translation.warn(AT_LIMIT, 1)
        self._again(job, replace(feed.lane.key, engine="torch"))

    def _again(self, job: QueuedSentence, key: LaneKey) -> None:
        """Queue a sentence for another search."""
        with self._lock:
            self._lane(key, job.call).add([job])
            self._start_threads()

    def _finish(self, feed: Feed, found: Finished) -> None:
        """Hand out the translation of a sentence."""
        job: QueuedSentence = found.key
        feed.leave([job])
        call = job.call
        if call.cancelled:
            return
        key, again = feed.lane.key, list[int]()
        try:
            found = found._replace(key=job.index)
            done = [result for _, result in call.translation.results([found], again, engine=key.engine)]
        except Exception as error:
            self._fail(call, error)
            return
        if again:
            self._again(job, replace(key, constrained=bool(job.attempt.request.phrases)))
            return
        (result,) = done
        self._metrics.pieces.labels(call.model, "source").inc(job.cost)
        self._metrics.pieces.labels(call.model, "target").inc(len(result.tokens) + 1)
        call.results[job.index] = result
        with self._lock:
            jobs = self._unfinished.get(call, set())
            if job not in jobs:
                return
            jobs.discard(job)
            self.pieces -= job.cost
            if jobs:
                return
            del self._unfinished[call]
        with suppress(InvalidStateError):  # nobody waits any more
            call.future.set_result(call.results)

    def _failed(self, feed: Feed, error: Exception) -> None:
        """Give each sentence of a batch that failed another try, alone; end the calls whose second it was."""
        jobs = list(feed.live)
        feed.leave(jobs)
        for job in jobs:
            job.failures += 1
            if job.failures > 1 and not job.call.cancelled:
                self._fail(job.call, error)
        with self._lock:
            feed.lane.add(job for job in jobs if not job.call.cancelled)
