"""The process that translates for a server: an engine of its own, which the server feeds.

It has no orphans' life: where the connection to the server ends, it ends.
"""

import os
import queue
import signal
import socket
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

import torch

from translate.runs.runtime import search_work, use_float32_products, use_runtime
from translate.serve.batch.calls import Calculation, ServedCall
from translate.serve.batch.channel import (
    Begin,
    Calculate,
    Calculated,
    Cancel,
    Channel,
    Counted,
    Done,
    Event,
    Failed,
    Grown,
    Part,
    Ready,
    sendable,
)
from translate.serve.batch.engine import Engine
from translate.translation import UNMET, Translation, TranslationCall
from translate.translator import Translator

_CPU = torch.device("cpu")
MOST_STEPS = 32  # whose counts wait for something that somebody waits for


class Outbox:
    """What is on its way to the server; it travels at the end of the step in which it came about.

    Args:
        channel: to the server.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._urgent = False

    def put(self, event: Event) -> None:
        """Take an event for which somebody may wait."""
        self._events.put(event)
        self._urgent = True

    def flush(self) -> None:
        """Send what has come."""
        self._urgent = False
        events: list[Event] = []
        while True:
            try:
                events.append(self._events.get_nowait())
            except queue.Empty:
                break
        if not events:
            return
        try:
            self._channel.send(events)
        except OSError:  # there is no server any more
            os._exit(1)

    def waited(self, model: str, seconds: float) -> None:
        self._events.put(Counted("waited", (model, seconds)))

    def in_batch(self, model: str, change: int) -> None:
        self._events.put(Counted("in_batch", (model, change)))
        self._urgent = self._urgent or change < 0

    def stepped(self, model: str, live: int, size: int) -> None:
        self._events.put(Counted("stepped", (model, live, size)))
        if self._urgent or self._events.qsize() > MOST_STEPS:
            self.flush()

    def translated(self, model: str, source: int, target: int) -> None:
        self._events.put(Counted("translated", (model, source, target)))

    def cancelled(self, model: str, count: int) -> None:
        """The server has counted it."""

    def holds(self, pieces: int) -> None:
        """The server counts what waits here, too."""


class Returned:
    """Sends what becomes of a part.

    Args:
        part: that the server has sent.
        outbox: where they go.
        calls: those that are not done, from which this one is taken at its end.
    """

    def __init__(self, part: Part, outbox: Outbox, calls: dict[int, ServedCall]) -> None:
        self._number, self._left = part.number, len(part.pieces)
        self._outbox, self._calls = outbox, calls

    def receive(self, index: int, result: Translation) -> None:
        call = self._calls.get(self._number)
        unmet = 0 if call is None else call.warnings.pop(UNMET, 0)
        self._outbox.put(Done(self._number, index, result, unmet))
        self._left -= 1
        if not self._left:
            self._calls.pop(self._number, None)

    def fail(self, error: Exception) -> None:
        self._calls.pop(self._number, None)
        self._outbox.put(Failed(self._number, sendable(error)))
        self._outbox.flush()

    def grow(self, index: int, ids: Sequence[int]) -> None:
        self._outbox.put(Grown(self._number, index, list(ids)))


class Translating:
    """The messages of the server, and what they set going.

    Args:
        channel: to the server.
        begin: the first message.
        translators: the models, by name.
    """

    def __init__(self, channel: Channel, begin: Begin, translators: Mapping[str, Translator]) -> None:
        self._outbox = Outbox(channel)
        self._translators = translators
        self._engine = Engine(1, begin.threads, sys.maxsize, self._outbox)
        self._calls: dict[int, ServedCall] = {}

    def take(self, message: Part | Cancel | Calculate) -> None:
        """Do what a message asks for."""
        match message:
            case Part():
                self._translate(message)
            case Cancel():
                call = self._calls.pop(message.number, None)
                if call is not None:
                    self._engine.cancel(call)
            case Calculate():
                translator = self._translators[message.model]
                wanted: Calculation[Any] = Calculation(
                    message.model, translator, message.cost, message.function, message.arguments
                )
                self._engine.calculate(wanted).add_done_callback(partial(self._answer, message.number))

    def _translate(self, part: Part) -> None:
        shape, receiver = part.shape, Returned(part, self._outbox, self._calls)
        call = ServedCall(
            shape.model, self._work(part), receiver, shape.growing, bulk=shape.bulk, arrived=part.arrived
        )
        self._calls[part.number] = call
        self._engine.submit(call)

    def _work(self, part: Part) -> TranslationCall:
        translator, shape = self._translators[part.shape.model], part.shape
        return TranslationCall(
            models=[member.model for member in (translator, *translator.partners)],
            target=translator.tokenizers.target,
            choice=translator.choice,
            options=shape.options,
            config=shape.config,
            marked=part.marked,
            pieces=part.pieces,
            others=part.others,
            requests=part.requests,
            engine=None,
            warnings=Counter(),
        )

    def _answer(self, number: int, future: "Future[Any]") -> None:
        error = future.exception()
        result = None if error is not None else future.result()
        self._outbox.put(Calculated(number, result, None if error is None else sendable(error)))
        self._outbox.flush()


def main(connection: int, memory: int) -> None:
    """Translate until the connection ends.

    Args:
        connection: the file descriptor of a socket to the server.
        memory: that of the models' weights.
    """
    for each in (signal.SIGINT, signal.SIGTERM):  # they come to all processes; the server drains
        signal.signal(each, signal.SIG_IGN)
    channel = Channel(socket.socket(fileno=connection))
    try:
        begin: Begin = channel.receive()
        sys.path[:] = begin.path
        use_runtime(_CPU, begin.threads)
        translators: Mapping[str, Translator] = begin.models.unpack(memory)
        use_float32_products(_CPU, max(search_work(each.model) for each in translators.values()))
        translating = Translating(channel, begin, translators)
        channel.send([Ready()])
        while True:
            translating.take(channel.receive())
    except (EOFError, OSError):
        os._exit(0)  # not sys.exit, which would wait for the batches
