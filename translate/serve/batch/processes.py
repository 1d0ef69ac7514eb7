"""The engine of processes: calls are shared out among several, each of which has a running batch of its own.

Python lets one thread of a process run at a time, so threads that search small models wait for each other and
for the event loop. Processes do not.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeVar

from translate.serve.batch.calls import Calculation, LaneKey, QueuedSentence, ServedCall
from translate.serve.batch.channel import (
    Calculate,
    Calculated,
    Cancel,
    Counted,
    Done,
    Event,
    Failed,
    Grown,
    Ready,
)
from translate.serve.batch.crew import Crew
from translate.serve.batch.dealing import able, part_of, room
from translate.serve.batch.engine import Engine, LostError, StoppedError
from translate.serve.batch.lanes import Lane
from translate.serve.batch.turns import RESERVED
from translate.serve.batch.worker import Given, Worker
from translate.serve.metrics import Meter
from translate.translation import UNMET
from translate.translator import Translator

Result = TypeVar("Result")

# Processes that may end over the same sentence. One may have ended by chance, and so may the next: beside
# another sentence that ends it, or because memory ran short. Three in a row have one cause.
MOST_ENDS = 3


@dataclass(eq=False)
class _Waiting:
    """A calculation that no process has, or one that does it."""

    wanted: Calculation[Any]
    future: "Future[Any]" = field(default_factory=Future)
    failures: int = 0

    def end(self, result: Any, error: BaseException | None) -> None:
        """Tell who waits for it."""
        if not self.future.set_running_or_notify_cancel():
            return
        if error is None:
            self.future.set_result(result)
        else:
            self.future.set_exception(error)


class ProcessEngine(Engine):
    """Shares calls out among processes that translate; CTranslate2 translates here, by threads.

    Sentences go to the process that has least to do. While sentences come, documents leave one of several
    processes free. A process that ends is begun anew, and one that has something to do and sends nothing for
    minutes is ended. What a process had to do is tried again, one at a time for each process, so that only
    what has ended :data:`MOST_ENDS` of them is lost.

    Args:
        workers: processes.
        threads: of torch, which they share.
        max_pieces, metrics: as those of :class:`Engine`.
        tell: writes an event to a log.
    """

    def __init__(
        self, workers: int, threads: int, max_pieces: int, metrics: Meter, tell: Callable[..., None]
    ) -> None:
        super().__init__(max(workers, threads), threads, max_pieces, metrics)  # threads for CTranslate2
        self._tell = tell
        self._numbers = count()
        self._again: deque[tuple[LaneKey, QueuedSentence]] = deque()
        self._calculations: deque[_Waiting] = deque()
        self._calculated: dict[int, _Waiting] = {}
        self._urgent = float("-inf")  # when a sentence that is no document's was last there
        self._changed = threading.Condition(self._lock)
        share = max(1, threads // workers)
        self._crew = Crew(workers, share, self._changed, self._hear, self._ended, tell)

    @property
    def works(self) -> bool:
        """See :class:`Engine`; not while each process is being begun anew."""
        return any(worker.ready for worker in self._crew.workers)

    @property
    def processes(self) -> list[int]:
        """The identifiers of the processes that translate."""
        return [worker.process.pid for worker in self._crew.workers if worker.process.poll() is None]

    def start(self, translators: Mapping[str, Translator]) -> Mapping[str, Translator]:
        """Hand the models to the processes; gives them with weights that all share.

        Raises:
            UserError: if a process ends before it is ready.
        """
        return self._crew.start(translators)

    def stop(self) -> None:
        """See :class:`Engine`."""
        super().stop()
        self._crew.stop()

    def close(self) -> None:
        """Stop, and wait for the processes."""
        self.stop()
        self._crew.close()
        with self._lock:
            left = [*self._calculations, *self._calculated.values()]
            self._calculations.clear()
            self._calculated.clear()
        for each in left:
            each.end(None, StoppedError())
        super().close()

    def _searches(self, lane: Lane) -> bool:
        return lane.key.engine != "torch"

    def _start_workers(self) -> None:
        super()._start_workers()
        self._deal()

    def _drop(self, call: ServedCall) -> None:
        for worker in self._crew.workers:
            for number, given in list(worker.given.items()):
                if any(job.call is call for job in given.jobs.values()):
                    worker.forget(number)
                    worker.send(Cancel(number))
        self._deal()

    def _calculation(self, wanted: Calculation[Result]) -> "Future[Result]":
        waiting = _Waiting(wanted)
        with self._lock:
            self._calculations.append(waiting)
            self._deal()
        return waiting.future

    def _deal(self) -> None:
        """Give processes what waits, as far as they have room. The lock is held."""
        while self._again and (workers := [w for w in able(self._crew.workers) if not w.has_again]):
            key, job = self._again.popleft()
            if not job.call.cancelled:
                self._give(workers[0], key, [job], again=True)
        while self._calculations and (workers := able(self._crew.workers)):
            self._give_calculation(workers[0], self._calculations.popleft())
        for lane in [each for each in self._lanes.values() if not self._searches(each)]:
            while len(lane) and (workers := able(self._crew.workers, lane.key, urgent=self._is_urgent())):
                most = min(room(workers[0], lane.key), -(-len(lane) // len(workers)))
                jobs = lane.next(min(most, lane.key.config.batch_size))
                if jobs:
                    self._give(workers[0], lane.key, jobs)
            if not len(lane):
                del self._lanes[lane.key]

    def _is_urgent(self) -> bool:
        """Whether sentences are there that are no document's, or were there lately."""
        now = time.monotonic()
        if any(worker.cost > worker.bulk for worker in self._crew.workers):
            self._urgent = now
        return now - self._urgent < RESERVED

    def _give(
        self, worker: Worker, key: LaneKey, jobs: Sequence[QueuedSentence], *, again: bool = False
    ) -> None:
        calls: dict[ServedCall, list[QueuedSentence]] = {}
        for job in jobs:
            calls.setdefault(job.call, []).append(job)
        for own in calls.values():
            number = next(self._numbers)
            worker.give(number, Given(key, dict(enumerate(own)), again), part_of(number, key, own))

    def _give_calculation(self, worker: Worker, waiting: _Waiting) -> None:
        if waiting.future.cancelled():
            return
        number, wanted = next(self._numbers), waiting.wanted
        self._calculated[number] = waiting
        message = Calculate(number, wanted.model, wanted.cost, wanted.function, wanted.arguments)
        worker.give(number, Given(again=waiting.failures > 0, cost=wanted.cost), message)

    def _hear(self, worker: Worker, events: Sequence[Event]) -> None:
        for event in events:
            match event:
                case Counted():
                    if event.method == "in_batch":
                        model, change = event.arguments
                        worker.in_batch[model] += change
                    getattr(self._metrics, event.method)(*event.arguments)
                case Done() | Grown() | Failed():
                    self._hear_of_sentence(worker, event)
                case Calculated():
                    with self._lock:
                        waiting = self._calculated.pop(event.number, None)
                        worker.forget(event.number)
                    if waiting is not None:
                        waiting.end(event.result, event.error)
                case Ready():
                    with self._lock:
                        worker.ready = True
                        self._changed.notify_all()
        with self._lock:
            self._deal()

    def _hear_of_sentence(self, worker: Worker, event: Done | Grown | Failed) -> None:
        with self._lock:
            given = worker.given.get(event.number)
            if given is None:  # nobody waits for it any more
                return
            job = given.jobs[0 if isinstance(event, Failed) else event.place]
            if isinstance(event, Done):
                worker.forget(event.number, event.place)
        call = job.call
        match event:
            case _ if call.cancelled:
                return
            case Done():
                if event.unmet:
                    call.warnings[UNMET] += event.unmet
                self._done(job)
                call.receiver.receive(job.index, event.result)
            case Grown():
                call.receiver.grow(job.index, event.ids)
            case Failed():
                self.cancel(call)
                call.receiver.fail(event.error)

    def _ended(self, worker: Worker) -> None:
        """Give others what a process had to do, and begin another one in its place."""
        code = worker.wait()
        with self._lock:
            was_ready, worker.ready, worker.ended = worker.ready, False, True
            lost, given_up = self._take_back(worker)
            self._deal()
            self._changed.notify_all()
            goes_on = self._crew.started and not self._stopped
        for model, sentences in worker.in_batch.items():
            self._metrics.in_batch(model, -sentences)
        for waiting in given_up:
            waiting.end(None, LostError(MOST_ENDS))
        for job in lost:
            if not job.call.cancelled:
                self.cancel(job.call)
                job.call.receiver.fail(LostError(MOST_ENDS))
        if goes_on:
            self._tell("process ended", number=worker.number, code=code)
            self._crew.replace(worker, was_ready=was_ready)

    def _take_back(self, worker: Worker) -> tuple[list[QueuedSentence], list[_Waiting]]:
        """Let others do what a process has not done; gives what has ended too many."""
        lost: list[QueuedSentence] = []
        given_up: list[_Waiting] = []
        for number, given in list(worker.given.items()):
            for job in given.jobs.values():
                job.failures += 1
                if job.failures == MOST_ENDS:
                    lost.append(job)
                elif given.key is not None:
                    self._again.append((given.key, job))
            if (waiting := self._calculated.pop(number, None)) is not None:
                waiting.failures += 1
                (given_up if waiting.failures == MOST_ENDS else self._calculations).append(waiting)
            worker.forget(number)
        return lost, given_up
