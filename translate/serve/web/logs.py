"""Logs: one JSON object a line, in which no client can write a line of its own."""

import json
import logging
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TextIO

from translate.config.names import shorten

MAX_TEXT = 1000  # characters of a text


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
