"""The life of the processes that translate: begun, given the models, begun anew when they end."""

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count

from translate.errors import UserError
from translate.search.ctranslate2.choosing import EngineChoice
from translate.serve.batch.channel import Begin, Event
from translate.serve.batch.handing import Handed, shared_memory
from translate.serve.batch.worker import Worker
from translate.translator import Translator

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds before a process that was never ready is begun anew
LOOK_EVERY = 1.0  # seconds between looks at what processes do
# Looks at a process that has something to do and sends nothing, after which it is ended. Looks are counted,
# not seconds: the whole machine may have been stopped for a while.
MOST_SILENT = 300


class Crew:
    """Some processes. Whoever reads or changes ``workers`` holds the engine's lock.

    Args:
        size: how many.
        threads: of torch, for each.
        changed: notified when a process is ready or has ended; its lock is the engine's.
        hear: called with the events that a process sends.
        ended: called when a process has ended.
        tell: writes an event to a log.
    """

    def __init__(
        self,
        size: int,
        threads: int,
        changed: threading.Condition,
        hear: Callable[[Worker, Sequence[Event]], None],
        ended: Callable[[Worker], None],
        tell: Callable[..., None],
    ) -> None:
        self.started = False
        self._tell = tell
        self._threads, self._changed, self._hear, self._ended = threads, changed, hear, ended
        self._memory = shared_memory()
        self._models: Handed | None = None
        self._closing = threading.Event()
        self._pause = 0.0
        self._numbers = count(1)
        self.workers: list[Worker] = []
        for _ in range(size):
            self.workers.append(self._new())

    def start(self, translators: Mapping[str, Translator]) -> Mapping[str, Translator]:
        """Hand the models to the processes; gives them with weights that all share.

        Raises:
            UserError: if a process ends before it is ready.
        """
        models = Handed.pack({name: _plain(each) for name, each in translators.items()}, self._memory)
        with self._changed:
            self._models = models
            for worker in self.workers:
                worker.send(Begin(models, self._threads, sys.path))
            self._changed.wait_for(self._is_settled)
            self.started = True
            threading.Thread(target=self._watch, name="watch", daemon=True).start()
            if any(worker.ended for worker in self.workers) and not self._closing.is_set():
                raise UserError(
                    "a process that translates has ended before it was ready: is there memory for "
                    f"--workers {len(self.workers)}?"
                )
        shared: dict[str, Translator] = models.unpack(self._memory)
        return {name: replace(shared[name], engine=each.engine) for name, each in translators.items()}

    def replace(self, worker: Worker, *, was_ready: bool) -> None:
        """Begin another process in the place of one that has ended."""
        with self._changed:
            self._pause = 0.0 if was_ready else min(LONGEST_PAUSE, max(FIRST_PAUSE, 2 * self._pause))
            pause = self._pause
        if self._closing.wait(pause):
            return
        new = self._new()
        with self._changed:
            assert self._models is not None
            new.send(Begin(self._models, self._threads, sys.path))
            self.workers[self.workers.index(worker)] = new
        if self._closing.is_set():
            new.close()

    def stop(self) -> None:
        """Begin no more processes."""
        self._closing.set()
        with self._changed:
            self._changed.notify_all()

    def close(self) -> None:
        """End all processes, and wait for them."""
        self.stop()
        with self._changed:
            workers = [*self.workers]
        for worker in workers:
            worker.close()
        for worker in workers:
            worker.wait()

    def _watch(self) -> None:
        """End processes that hang; what they had to do is given to others when they have ended."""
        while not self._closing.wait(LOOK_EVERY):
            with self._changed:
                for worker in self.workers:
                    worker.silent = worker.silent + 1 if worker.ready and worker.given else 0
                hanging = [worker for worker in self.workers if worker.silent > MOST_SILENT]
            for worker in hanging:
                self._tell("process hangs", number=worker.number, seconds=MOST_SILENT * LOOK_EVERY)
                worker.silent = 0
                worker.process.kill()

    def _is_settled(self) -> bool:
        return self._closing.is_set() or all(worker.ready or worker.ended for worker in self.workers)

    def _new(self) -> Worker:
        return Worker(next(self._numbers), self._memory, self._hear, self._ended)


def _plain(translator: Translator) -> Translator:
    """The translator as another process can have it: torch alone searches there."""
    partners = tuple(_plain(each) for each in translator.partners)
    return replace(translator, engine=EngineChoice(), partners=partners)
