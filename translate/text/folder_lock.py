"""The lock of a folder in which one process works at a time; the system releases that of a killed one."""

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from translate.config.names import shorten, shown_path
from translate.errors import UserError
from translate.text.file_writing import explain_write_errors

LOCK = "run.lock"


@contextmanager
def locked(directory: Path, refusal: str) -> Iterator[None]:
    """Hold the lock of a folder, and create the folder if necessary.

    Args:
        directory: the folder.
        refusal: what to say of another process, such as ``{} works in this run; wait for it``.

    Raises:
        UserError: if another living process holds it, or the folder cannot be written.
    """
    path, existed = directory / LOCK, directory.exists()
    with explain_write_errors(directory):
        directory.mkdir(parents=True, exist_ok=True)
        descriptor = _acquire(path, refusal)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)  # while it is held
        os.close(descriptor)
        if not existed:
            with suppress(OSError):  # it is not empty
                directory.rmdir()


def check_unused(directory: Path, refusal: str) -> None:
    """Raise :class:`UserError` if a living process works in the folder; writes nothing."""
    if holder := holder_of(directory):
        raise UserError(f"{shown_path(directory)}: {refusal.format(holder)}")


def holder_of(directory: Path) -> str | None:
    """The living process that works in the folder, in words, or ``None``; writes nothing."""
    try:
        descriptor = os.open(directory / LOCK, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        return _take(descriptor, fcntl.LOCK_SH)  # several processes of a run may ask at once
    finally:
        os.close(descriptor)


def _acquire(path: Path, refusal: str) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            if holder := _take(descriptor, fcntl.LOCK_EX):
                raise UserError(f"{shown_path(path.parent)}: {refusal.format(holder)}")
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                    holder = json.dumps({"pid": os.getpid(), "host": socket.gethostname()})
                    os.ftruncate(descriptor, 0)
                    os.write(descriptor, holder.encode())
                    return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # its holder has just removed it


def _take(descriptor: int, kind: int) -> str | None:
    """Take the lock; if it is not free, returns the process that has it, in words."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        return None
    except BlockingIOError:
        pass
    except OSError:  # no locks here
        return None
    try:
        holder = json.loads(os.pread(descriptor, 4096, 0))  # of a file that may be damaged
        return shorten(f"process {holder['pid']} on {holder['host']}")
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "another process"
