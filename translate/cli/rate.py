"""How fast sentences are translated, for somebody who looks on."""

import sys
import time
from typing import TextIO

EVERY = 0.5  # seconds between two lines


class Rate:
    """Sentences a second on standard error, if that is a terminal, and standard output is none."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stderr
        # Where both are the terminal, the translations themselves are to be seen.
        self.shown = self.stream.isatty() and not sys.stdout.isatty()
        self.count = 0
        self.began = self.last = time.monotonic()

    def add(self, count: int) -> None:
        """Note that so many more are done."""
        self.count += count
        now = time.monotonic()
        if self.shown and now - self.last >= EVERY:
            self.last = now
            self._show("\r")

    def end(self) -> None:
        """Leave the last figure on a line of its own."""
        if self.shown and self.count:
            self._show("\r")
            print(file=self.stream, flush=True)

    def _show(self, start: str) -> None:
        seconds = max(time.monotonic() - self.began, 1e-9)
        text = f"{self.count:,} sentences, {self.count / seconds:,.1f} sentences/s"
        print(f"{start}{text:<50}", end="", file=self.stream, flush=True)
