"""The operator's view: counters and histograms for Prometheus, and a log."""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, TextIO, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

from translate.config.names import shorten

Kind = TypeVar("Kind", Counter, Gauge, Histogram)

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    """The counters of ``/metrics``.

    Labels are names of models, which the operator has given, patterns of paths, and status codes; none holds
    an address, a key or a text.
    """

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.characters = 0  # of texts that clients of DeepL have had translated
        ProcessCollector(registry=registry)  # memory, seconds of processors, open files

        def metric(kind: type[Kind], name: str, meaning: str, *labels: str) -> Kind:
            buckets: dict[str, Any] = {"buckets": SECONDS} if kind is Histogram else {}
            return kind(f"translate_{name}", meaning, labels, registry=registry, **buckets)

        self.latency = metric(Histogram, "request_seconds", "Until the answer has ended", "endpoint")
        self.waiting = metric(Histogram, "waiting_seconds", "Until a sentence is in the batch", "model")
        self.requests = metric(Counter, "requests", "Requests that were answered", "endpoint", "status")
        self.pieces = metric(Counter, "pieces", "Pieces, with the ends of sentences", "model", "side")
        self.cancelled = metric(Counter, "cancelled", "Sentences that nobody waited for any more", "model")
        self.in_batch = metric(Gauge, "batch_sentences", "Sentences in running batches", "model")
        self.queued = metric(Gauge, "queued_pieces", "Source pieces that wait or run")
        self.running = metric(Gauge, "requests_running", "Requests without an answer")


class Log(logging.Handler):
    """Writes events as lines of JSON; everything but ASCII is escaped.

    Args:
        stream: standard error by default.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        super().__init__(logging.WARNING)
        self._stream = stream or sys.stderr

    def write(self, event: str, **fields: object) -> None:
        """Write one line: the time, the event and its fields."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = json.dumps({"time": now, "event": event, **fields}, ensure_ascii=True, default=str)
        self._stream.write(f"{line}\n")  # at once, so that lines of several workers stay apart
        self._stream.flush()

    def relay(self, *names: str) -> None:
        """Take over the loggers of libraries."""
        for name in names:
            logger = logging.getLogger(name)
            logger.handlers, logger.propagate = [self], False

    def emit(self, record: logging.LogRecord) -> None:
        """Write what a library logs, without its arguments, which may hold what a client sent."""
        error = record.exc_info[1] if record.exc_info else None
        more = {"error": shorten(f"{type(error).__name__}: {error}")} if error is not None else {}
        self.write("library", logger=record.name, message=shorten(str(record.msg)), **more)
