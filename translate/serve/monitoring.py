"""The operator's view: counters and histograms for Prometheus, and a log."""

import json
import logging
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TextIO

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)

from translate.config.names import shorten

MAX_TEXT = 1000  # characters of a text
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
SHARES = (0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0)


class Metrics:
    """The counters of ``/metrics``.

    Labels are names of models, which the operator has given, patterns of paths, and status codes; none holds
    an address, a key or a text.
    """

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.characters = 0  # of texts that clients of DeepL have had translated
        self._latency = Histogram(
            "translate_request_seconds",
            "Time from a request to the end of its answer",
            ["endpoint"],
            buckets=SECONDS,
            registry=registry,
        )
        self._requests = Counter(
            "translate_requests", "Requests that were answered", ["endpoint", "status"], registry=registry
        )
        self._waiting = Histogram(
            "translate_waiting_seconds",
            "Time that a sentence waited until it entered the running batch",
            ["model"],
            buckets=SECONDS,
            registry=registry,
        )
        self._fill = Histogram(
            "translate_batch_fill",
            "Share of the running batch that was in use, at each step",
            ["model"],
            buckets=SHARES,
            registry=registry,
        )
        self._pieces = Counter(
            "translate_pieces",
            "Pieces of translated sentences, with the ends of sentences",
            ["model", "side"],
            registry=registry,
        )
        self._cancelled = Counter(
            "translate_cancelled", "Sentences that nobody waited for any more", ["model"], registry=registry
        )
        self._in_batch = Gauge(
            "translate_batch_sentences", "Sentences in running batches", ["model"], registry=registry
        )
        ProcessCollector(registry=registry)  # memory, seconds of processors, open files
        self._queued = Gauge("translate_queued_pieces", "Source pieces that wait or run", registry=registry)
        self.running = Gauge("translate_requests_running", "Requests without an answer", registry=registry)

    def waited(self, model: str, seconds: float) -> None:
        """A sentence has entered the running batch."""
        self._waiting.labels(model).observe(seconds)

    def in_batch(self, model: str, change: int) -> None:
        """Sentences have entered running batches, or left them."""
        self._in_batch.labels(model).inc(change)

    def stepped(self, model: str, live: int, size: int) -> None:
        """A batch of ``size`` slots has made a step with ``live`` sentences."""
        self._fill.labels(model).observe(live / size)

    def translated(self, model: str, source: int, target: int) -> None:
        """A sentence is done."""
        self._pieces.labels(model, "source").inc(source)
        self._pieces.labels(model, "target").inc(target)

    def cancelled(self, model: str, count: int) -> None:
        """Sentences have left without a translation."""
        self._cancelled.labels(model).inc(count)

    def holds(self, pieces: int) -> None:
        """Set the number of source pieces that wait or run."""
        self._queued.set(pieces)

    def answered(self, endpoint: str, status: int, seconds: float) -> None:
        """A request has its answer."""
        self._requests.labels(endpoint, str(status)).inc()
        self._latency.labels(endpoint).observe(seconds)

    def text(self) -> bytes:
        """All of them, in the format of Prometheus."""
        return generate_latest(self.registry)


class Log:
    """Writes events as lines of JSON; everything but ASCII is escaped.

    Args:
        stream: standard error by default.
        texts: whether the texts of requests are logged, too.
    """

    def __init__(self, stream: TextIO | None = None, *, texts: bool = False) -> None:
        self.texts = texts
        self._stream = stream or sys.stderr

    def write(self, event: str, **fields: object) -> None:
        """One line: the time, the event and its fields."""
        now = datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="milliseconds")
        line = json.dumps({"time": now, "event": event, **fields}, ensure_ascii=True, default=str)
        print(line, file=self._stream, flush=True)

    def shown(self, texts: Sequence[str]) -> dict[str, object]:
        """The texts for a line, if they are logged."""
        return {"texts": [text[:MAX_TEXT] for text in texts]} if self.texts else {}


class Relay(logging.Handler):
    """Writes what libraries log into a :class:`Log`.

    Args:
        log: that is written.
    """

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record without its arguments, which may hold what a client sent."""
        error = record.exc_info[1] if record.exc_info else None
        what = {"error": shorten(f"{type(error).__name__}: {error}")} if error is not None else {}
        self._log.write("library", logger=record.name, message=shorten(str(record.msg)), **what)
