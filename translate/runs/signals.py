"""SIGTERM and Ctrl-C: a run that is told to end saves first, and says by its exit code that it may go on."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED, TERMINATED = "interrupted", "terminated"
EXIT_CODES = {INTERRUPTED: 130, TERMINATED: 75}  # 75: EX_TEMPFAIL, try again


class Signals:
    """SIGTERM and the first Ctrl-C ask the run to end after the step; a second Ctrl-C ends it at once.

    Args:
        quiet: whether another process says so.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        self.caught: str | None = None
        self._before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def __enter__(self) -> "Signals":
        for number in self._before:
            _handle(number, self._catch)
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._before.items():
            _handle(number, handler)

    def _catch(self, number: int, frame: FrameType | None) -> None:
        self.caught = TERMINATED if number == signal.SIGTERM else INTERRUPTED
        _handle(signal.SIGINT, signal.default_int_handler)
        if not self.quiet:
            text = f"\n{self.caught}: the run is saved after this step; Ctrl-C ends it at once\n"
            os.write(2, text.encode())


@contextmanager
def leave_on_sigterm() -> Iterator[None]:
    """SIGTERM leaves with the exit code that asks for another try, where there is nothing to be saved."""

    def leave(number: int, frame: FrameType | None) -> None:
        os.write(2, f"\n{TERMINATED}: nothing had to be saved; go on with training.resume=true\n".encode())
        raise SystemExit(EXIT_CODES[TERMINATED])

    before = signal.getsignal(signal.SIGTERM)
    _handle(signal.SIGTERM, leave)
    try:
        yield
    finally:
        _handle(signal.SIGTERM, before)


def _handle(number: int, handler: object) -> None:
    # Python lets no other thread do this; a run in one (a notebook's, a test's) goes without.
    if threading.current_thread() is threading.main_thread():
        signal.signal(number, handler)  # type: ignore[arg-type]
