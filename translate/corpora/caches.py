"""Cached files: where they are, what they are called, and who makes them; hashes of texts."""

import fcntl
import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path

import numpy as np

VERSION = b"3"  # changes with the format of cached files and the encoding of text


def cache_directory(setting: str | None) -> Path | None:
    """The folder of the setting ``runtime.cache``: ``auto``, a path, or ``None`` for no cache."""
    if setting != "auto":
        return None if setting is None else Path(setting).expanduser()
    own = os.environ.get("TRANSLATE_CACHE")
    if own:
        return Path(own).expanduser()
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "translate"


def fingerprint(parts: Iterable[str | bytes]) -> str:
    """A name for content, equal only for the same parts in the same order."""
    digest = hashlib.sha256(VERSION)
    for part in parts:
        content = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(content).to_bytes(8, "little"))
        digest.update(content)
    return digest.hexdigest()


def digests(texts: Iterable[str]) -> np.ndarray:
    """64 bits of each text (uint64), the same on every machine."""
    found = (blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts)
    return np.frombuffer(b"".join(found), "<u8")


@contextmanager
def one_at_a_time(path: Path) -> Iterator[None]:
    """Wait while another process makes the cached file ``path``, as those do that start side by side.

    Without locks (some network file systems) or in a folder that cannot be written, nobody waits,
    and every process makes it. The system releases the lock of a process that is killed.
    """
    lock = path.with_suffix(".lock")
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    except OSError:
        yield
        return
    try:
        with suppress(OSError):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                print("waiting for another process, which encodes the same pairs")
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        with suppress(OSError):
            lock.unlink()  # while it is held; those that wait for it find the file
        os.close(descriptor)
