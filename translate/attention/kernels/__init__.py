"""All that knows a processor: each function has a plain form, its oracle, which runs with the kernels off."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class Switch:
    """Whether the fast forms may run."""

    on: bool = True


SWITCH = Switch()


@contextmanager
def off() -> Iterator[None]:
    """Run the plain forms alone inside this context."""
    before, SWITCH.on = SWITCH.on, False
    try:
        yield
    finally:
        SWITCH.on = before
