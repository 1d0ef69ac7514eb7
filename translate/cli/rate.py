"""How fast sentences are translated or aligned, for somebody who looks on."""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TextIO, TypeVar

Item = TypeVar("Item")

EVERY = 0.5  # seconds between two lines


class Rate:
    """How much is done, and how much a second, on standard error if that is a terminal.

    Args:
        stream: standard error if not given.
        unit: what is counted.
        total: how many there are of each part, if that is known.
        quiet_meanwhile: whether nothing goes to standard output before the end. Else nothing is shown where
            both are the terminal, for what is printed is to be seen.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        unit: str = "sentences",
        total: int | None = None,
        quiet_meanwhile: bool = False,
    ) -> None:
        self.stream = stream or sys.stderr
        self.shown = self.stream.isatty() and (quiet_meanwhile or not sys.stdout.isatty())
        self.unit, self.total = unit, total
        self.part = ""
        self.count = 0
        self.began = self.told = self.last = time.monotonic()

    def add(self, count: int, part: str = "") -> None:
        """Note that so many more are done of a part, which is named if there are several."""
        now = time.monotonic()
        if part != self.part:
            self.part, self.count, self.began = part, 0, self.told
        self.count += count
        self.told = now
        if self.shown and now - self.last >= EVERY:
            self.last = now
            self._show("\r")

    def of(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items, each counted when the next is asked for."""
        for item in items:
            yield item
            self.add(1)
        self.end()

    def end(self) -> None:
        """Leave the last figure on a line of its own."""
        if self.shown and self.count:
            self._show("\r")
            print(file=self.stream, flush=True)

    def _show(self, start: str) -> None:
        seconds = max(self.told - self.began, 1e-9)
        name = f"{self.part}: " if self.part else ""
        of = "" if self.total is None else f" of {self.total:,}"
        text = f"{name}{self.count:,}{of} {self.unit}, {self.count / seconds:,.1f} {self.unit}/s"
        print(f"{start}{text:<50}", end="", file=self.stream, flush=True)
