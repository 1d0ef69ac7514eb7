"""How often Python looks for cycles of objects while a corpus is read."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

OBJECTS = 1_000_000  # new ones before the next look


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Python's collector of cycles, at work only once in :data:`OBJECTS` new objects.

    The words of a corpus are millions of objects and no cycle; as it is set by default, the collector walks
    through them again and again, for a fifth of the time in which 80,000 pairs are read, linked and encoded.
    """
    first, *others = gc.get_threshold()
    gc.set_threshold(max(first, OBJECTS) if first else 0, *others)  # 0: switched off
    try:
        yield
    finally:
        gc.set_threshold(first, *others)
