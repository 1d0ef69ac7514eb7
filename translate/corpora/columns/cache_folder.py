"""Keeps the folder of cached files within a limit: those that were used longest ago make room."""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from translate.text.aside import is_left_over

FOLDERS = ("corpora", "encoded", "pictures")  # in the cache, with files that can be made again
RECENT = 3600.0  # seconds in which another process that has just found a file opens it
ABANDONED = 2 * 86400.0  # seconds after which a half-written file is nobody's


class Removed(NamedTuple):
    """What made room.

    Attributes:
        files: their number.
        size: of all, in bytes.
    """

    files: int
    size: int


class _Entry(NamedTuple):
    used: float  # seconds since the epoch
    size: int
    paths: list[Path]


def mark_used(path: Path) -> None:
    """Note that a cached file is in use; a cache that cannot be written is no error."""
    with suppress(OSError):
        os.utime(path)


@contextmanager
def one_at_a_time(path: Path) -> Iterator[None]:
    """Wait while another process makes the cached file ``path``, as those do that start side by side.

    Without locks (Windows, some network file systems) or in a folder that cannot be written, nobody waits,
    and each makes it. The system releases the lock of a process that is killed.
    """
    lock = path.with_suffix(".lock")
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    except (OSError, AttributeError):
        yield
        return
    try:
        with suppress(ImportError, OSError):
            _wait_for(descriptor, path)
        yield
    finally:
        with suppress(OSError):
            lock.unlink()  # while it is held; those that wait for it find the file
        os.close(descriptor)


def _wait_for(descriptor: int, path: Path) -> None:
    import fcntl  # not on Windows

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"waiting for another process, which makes {path}", flush=True)
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def tidy(cache: Path, limit: float, since: float) -> Removed:
    """Remove the files used longest ago until the others have at most ``limit`` bytes.

    What killed processes left half-written is removed after some days. A process that has mapped a file
    keeps its content until it ends.

    Args:
        cache: the folder; one that is missing is empty.
        limit: bytes.
        since: seconds since the epoch; files that were used later stay, whatever their size.
    """
    now = time.time()
    entries = [each for name in FOLDERS for each in _entries(cache / name, now)]
    size, number, removed = sum(entry.size for entry in entries), 0, 0
    for entry in sorted(entries):
        if size - removed <= limit or entry.used >= min(since, now - RECENT):
            break
        for path in entry.paths:
            with suppress(OSError):
                path.unlink()
        number, removed = number + len(entry.paths), removed + entry.size
    return Removed(number, removed)


def _entries(folder: Path, now: float) -> list[_Entry]:
    """The cached files, each with the one beside it that describes it."""
    found: dict[str, _Entry] = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        with suppress(OSError):  # another process has removed it
            state = path.lstat()
            used = max(state.st_mtime, state.st_atime)
            if is_left_over(path):
                if now - used > ABANDONED:
                    shutil.rmtree(path, ignore_errors=True)
            elif path.is_file() and not path.is_symlink():
                other = found.get(path.stem, _Entry(0.0, 0, []))
                found[path.stem] = _Entry(
                    max(used, other.used), state.st_size + other.size, [*other.paths, path]
                )
    return list(found.values())
