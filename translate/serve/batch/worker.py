"""A process that translates, as the server sees it: what it has to do, and the connection to it."""

import json
import queue
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from translate.serve.batch.calls import LaneKey, QueuedSentence
from translate.serve.batch.channel import Begin, Calculate, Cancel, Channel, Event, Part

# The same path of modules, whatever has changed that of the server.
ENTRY = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from translate.serve.batch.process import main; main(*map(int, sys.argv[2:]))"
)
LAST_SECONDS = 5.0  # for a process to end by itself


@dataclass(eq=False)
class Given:
    """What a process has to do: sentences of a call, by their place in the part, or a calculation."""

    key: LaneKey | None = None
    jobs: dict[int, QueuedSentence] = field(default_factory=dict)
    again: bool = False  # whether another process has ended while it did this
    cost: int = 0  # pieces of a calculation


class Worker:
    """One process. Its ``given`` and counts belong to whoever holds the engine's lock.

    Args:
        number: for people.
        memory: the file descriptor of the models' weights.
        hear: called with events that it sends.
        end: called when it has ended.
    """

    def __init__(
        self,
        number: int,
        memory: int,
        hear: "Callable[[Worker, Sequence[Event]], None]",
        end: "Callable[[Worker], None]",
    ) -> None:
        self.number = number
        self.ready = self.ended = False
        self.given: dict[int, Given] = {}
        self.silent = 0  # looks at it since it has sent something, while it had something to do
        self.cost = 0  # pieces of all that it has to do
        self.bulk = 0  # those of documents
        self.sentences: Counter[LaneKey] = Counter()
        self.in_batch: Counter[str] = Counter()  # sentences of each model, as its metrics say
        ours, theirs = socket.socketpair()
        with theirs:
            files = theirs.fileno(), memory
            command = [sys.executable, "-c", ENTRY, json.dumps(sys.path), *map(str, files)]
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=files)
        self._channel, self._hear, self._end = Channel(ours), hear, end
        self._outgoing: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for target in (self._send, self._receive):
            threading.Thread(target=target, name=f"worker {number}", daemon=True).start()

    def give(self, number: int, given: Given, message: Part | Calculate) -> None:
        """Let it do something."""
        cost = given.cost + sum(job.cost for job in given.jobs.values())
        self.given[number] = given
        self.cost += cost
        if given.key is not None:
            self.bulk += cost if given.key.bulk else 0
            self.sentences[given.key] += len(given.jobs)
        self.send(message)

    @property
    def has_again(self) -> bool:
        """Whether it does something for which another process has ended."""
        return any(each.again for each in self.given.values())

    def send(self, message: Begin | Part | Cancel | Calculate) -> None:
        """Send a message, soon; nobody waits for a process that is behind."""
        self._outgoing.put(message)

    def forget(self, number: int, place: int | None = None) -> QueuedSentence | None:
        """It no longer has the sentence at a place of a part, or anything of it, to do."""
        given = self.given.get(number)
        if given is None:
            return None
        places = list(given.jobs) if place is None else [place]
        gone = [job for each in places if (job := given.jobs.pop(each, None)) is not None]
        for job in gone:
            self.cost -= job.cost
            if given.key is not None:
                self.bulk -= job.cost if given.key.bulk else 0
                self.sentences[given.key] -= 1
        if given.key is not None and not self.sentences[given.key]:
            del self.sentences[given.key]
        if not given.jobs:
            self.cost -= given.cost
            del self.given[number]
        return gone[0] if gone else None

    def close(self) -> None:
        """End the connection, and so the process."""
        self._outgoing.put(None)
        self._channel.close()

    def wait(self) -> int:
        """Wait for its end; gives its exit code."""
        try:
            return self.process.wait(LAST_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def _send(self) -> None:
        while (message := self._outgoing.get()) is not None:
            try:
                self._channel.send(message)
            except OSError:  # it has ended; what it had to do is given to others
                return

    def _receive(self) -> None:
        try:
            while True:
                events = self._channel.receive()
                self.silent = 0
                self._hear(self, events)
        except (EOFError, OSError):
            self._outgoing.put(None)
            self._channel.close()
        self._end(self)
