"""Who computes next: a few threads at a time, and shares of the time for those who wait."""

import threading
import time
from dataclasses import dataclass, field


@dataclass(eq=False)
class Party:
    """One of those who share the time.

    Attributes:
        weight: its share in relation to others.
        spent: seconds that it has computed, divided by the weight.
    """

    weight: float = 1.0
    spent: float = 0.0


@dataclass(eq=False)
class _Waiting:
    party: Party
    ready: threading.Event = field(default_factory=threading.Event)


class Turns:
    """At most ``count`` threads compute at a time; of those that wait, the one whose party has spent least.

    A thread asks for its next turn after each step of its batch, so that a sentence never waits for more
    than a step of the others, and a party with much to do leaves others their shares (fair queueing by
    virtual time, Demers et al. 1989). A party that was idle has saved nothing up.

    Args:
        count: threads that compute side by side.
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._lock = threading.Lock()
        self._waiting: list[_Waiting] = []
        self._began: dict[int, float] = {}  # of each thread that computes, by its identifier
        self._now = 0.0  # time spent of the party that came last

    def take(self, party: Party) -> None:
        """Wait for a turn."""
        with self._lock:
            party.spent = max(party.spent, self._now)
            if self._free and not self._waiting:
                self._free -= 1
                self._begin(party)
                return
            waiting = _Waiting(party)
            self._waiting.append(waiting)
        self._wait(waiting)

    def give(self, party: Party) -> None:
        """End the turn."""
        with self._lock:
            self._end(party)
            self._pass_on()

    def renew(self, party: Party) -> None:
        """Go on if no other party has spent less; otherwise wait for the next turn."""
        with self._lock:
            self._end(party)
            first = self._first()
            if first is None or first.party.spent >= party.spent:
                self._begin(party)
                return
            self._pass_on()
            waiting = _Waiting(party)
            self._waiting.append(waiting)
        self._wait(waiting)

    def _wait(self, waiting: _Waiting) -> None:
        waiting.ready.wait()
        with self._lock:
            self._begin(waiting.party)

    def _begin(self, party: Party) -> None:
        self._began[threading.get_ident()] = time.perf_counter()
        self._now = max(self._now, party.spent)

    def _end(self, party: Party) -> None:
        began = self._began.pop(threading.get_ident())
        party.spent += (time.perf_counter() - began) / party.weight

    def _first(self) -> _Waiting | None:
        return min(self._waiting, key=lambda each: each.party.spent, default=None)

    def _pass_on(self) -> None:
        """Hand the turn that has ended to the next, or keep it free."""
        first = self._first()
        if first is None:
            self._free += 1
            return
        self._waiting.remove(first)
        first.ready.set()
