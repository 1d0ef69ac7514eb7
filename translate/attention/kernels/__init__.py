"""All that knows a processor: each function has a plain form, its oracle, which runs with the kernels off."""

from collections.abc import Iterator
from contextlib import contextmanager

_state = {"on": True}


def on() -> bool:
    """Whether the fast forms may run."""
    return _state["on"]


@contextmanager
def off() -> Iterator[None]:
    """Run the plain forms alone inside this context."""
    before, _state["on"] = _state["on"], False
    try:
        yield
    finally:
        _state["on"] = before
