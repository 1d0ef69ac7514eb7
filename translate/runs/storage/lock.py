"""The lock of a run's folder: one living process at a time works in it.

It is not that of the package `filelock`, which the tests use: that one is released at the end of a process,
too, but it does not tell who holds it and has no shared mode (the processes of a run check at once), and on a
file system without `flock` a file that a killed process left behind would lock the run for ever. On NFS,
Linux turns `flock` into a lock of the server, which holds between hosts; if the server has none, the process
id and the host in the file decide.
"""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from translate.config.names import shorten
from translate.errors import UserError
from translate.text.aside import not_written

LOCK = "run.lock"


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Hold the lock of a run's folder, and create the folder if necessary.

    The operating system releases the lock when the process ends, however it ends, so the file that a killed
    process leaves behind locks nothing. On a file system without locks the process id and the host in the
    file decide: a dead process of this host holds nothing.

    Raises:
        UserError: if another living process holds it, or the folder cannot be written.
    """
    path, existed = directory / LOCK, directory.exists()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        descriptor = _acquire(path)
    except OSError as error:
        raise UserError(f"{directory}: {not_written(error)}") from error
    try:
        yield
    finally:
        path.unlink(missing_ok=True)  # while it is held
        os.close(descriptor)
        if not existed:
            with suppress(OSError):  # it is not empty
                directory.rmdir()


def check_unused(directory: Path) -> None:
    """Raise :class:`UserError` if a living process works in the folder, without writing anything."""
    holder = at_work(directory)
    if holder is not None:
        raise _refusal(directory / LOCK, holder)


def at_work(directory: Path) -> str | None:
    """The living process that works in the folder, in words, or ``None``; writes nothing."""
    try:
        descriptor = os.open(directory / LOCK, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        holder = _read(descriptor)
        # Several processes of a run may ask at once.
        return None if _hold(descriptor, holder, shared=True) else _in_words(holder)
    finally:
        os.close(descriptor)


def _acquire(path: Path) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            holder = _read(descriptor)
            if not _hold(descriptor, holder):
                raise _refusal(path, _in_words(holder))
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                    own = {"pid": os.getpid(), "host": socket.gethostname(), "begun": _begun(os.getpid())}
                    os.ftruncate(descriptor, 0)
                    os.write(descriptor, json.dumps(own).encode())
                    return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # its holder has just removed it


def _hold(descriptor: int, holder: dict[str, Any], *, shared: bool = False) -> bool:
    """Take the lock; returns whether it was free."""
    try:
        import fcntl  # not on Windows

        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False
    except (ImportError, OSError):  # a file system without locks
        return not _lives(holder)


def _refusal(path: Path, holder: str) -> UserError:
    return UserError(
        f"{path.parent}: {holder} is at work in this run; wait for it, or choose another run.name "
        f"(if that process is gone, delete {path})"
    )


def _in_words(holder: dict[str, Any]) -> str:
    return shorten(f"process {holder.get('pid', '?')} on {holder.get('host', '?')}")


def _read(descriptor: int) -> dict[str, Any]:
    try:
        found = json.loads(os.pread(descriptor, 4096, 0))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _lives(holder: dict[str, Any]) -> bool:
    """Whether the process that wrote a lock may still live; on another host that is unknown."""
    pid = holder.get("pid")
    if not isinstance(pid, int) or pid == os.getpid():
        return False
    if holder.get("host") != socket.gethostname():
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return holder.get("begun") in (None, _begun(pid))  # otherwise another process has the id now


def _begun(pid: int) -> str | None:
    """When a process began, in clock ticks of the system; ``None`` if the system does not report it."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return None
    return stat.rpartition(")")[2].split()[19]
