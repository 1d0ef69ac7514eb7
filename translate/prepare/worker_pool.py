"""Worker processes of a preparation, which end with it: an interrupt is this process's to handle."""

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, connection, get_context, parent_process


@contextmanager
def worker_processes(count: int) -> Iterator[ProcessPoolExecutor]:
    """A pool of processes that are not forked: a fork would copy the locks of DuckDB's and Arrow's threads.

    Submit all work under :func:`uninterrupted`. Where the block is left by an error, the processes are ended
    in the midst of their work.
    """
    before = {process.pid for process in active_children()}
    with ProcessPoolExecutor(count, get_context("spawn"), initializer=_end_with_parent) as pool:
        try:
            yield pool
        except BaseException:
            for process in active_children():
                if process.pid not in before:
                    process.kill()
            raise


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Processes that begin in this block never see an interrupt, of a terminal for example.

    One that comes meanwhile reaches this process at the end of the block. A signal that is blocked stays
    blocked in a new process, even before it runs any of our code.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with_parent() -> None:
    """End this worker as soon as the process that started it is gone, however it ended."""
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
