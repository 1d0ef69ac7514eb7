"""Who computes next: a few threads at a time, and shares of the time for those who wait."""

import threading
import time
from dataclasses import dataclass, field

RESERVED = 1.0  # seconds for which patient parties leave a turn free


@dataclass(eq=False)
class Party:
    """One of those who share the time.

    Attributes:
        weight: its share in relation to others.
        patient: whether it leaves one turn free for those that are not, if there are several.
        spent: seconds that it has computed, divided by the weight.
    """

    weight: float = 1.0
    patient: bool = False
    spent: float = 0.0


@dataclass(eq=False)
class _Waiting:
    party: Party
    ready: threading.Event = field(default_factory=threading.Event)


class Turns:
    """At most ``count`` threads compute at a time; of those that wait, the one whose party has spent least.

    A thread asks for its next turn after each step of its batch, so that a sentence never waits for more
    than a step of the others, and a party with much to do leaves others their shares (fair queueing by
    virtual time, Demers et al. 1989). A party that was idle has saved nothing up. While others compute, or
    have done so lately, patient parties leave one turn free, so that who comes next need not wait for a step.

    Args:
        count: threads that compute side by side.
    """

    def __init__(self, count: int) -> None:
        self._count = self._free = count
        self._lock = threading.Lock()
        self._waiting: list[_Waiting] = []
        self._began: dict[int, float] = {}  # of each thread that computes, by its identifier
        self._now = 0.0  # time spent of the party that came last
        self._patient = 0  # turns that patient parties have
        self._urgent = float("-inf")  # when another party has last begun or ended a turn

    def take(self, party: Party) -> None:
        """Wait for a turn."""
        with self._lock:
            party.spent = max(party.spent, self._now)
            waiting = self._wait(party)
        self._begin_after(waiting)

    def give(self, party: Party) -> None:
        """End the turn."""
        with self._lock:
            self._end(party)
            self._hand_out()

    def renew(self, party: Party) -> None:
        """Go on if no other party has spent less; otherwise wait for the next turn."""
        with self._lock:
            self._end(party)
            first = self._first()
            if self._may(party) and (first is None or first.party.spent >= party.spent):
                self._grant(party)
                self._begin(party)
                self._hand_out()
                return
            waiting = self._wait(party)
        self._begin_after(waiting)

    def _wait(self, party: Party) -> _Waiting:
        waiting = _Waiting(party)
        self._waiting.append(waiting)
        self._hand_out()
        return waiting

    def _begin_after(self, waiting: _Waiting) -> None:
        waiting.ready.wait()
        with self._lock:
            self._begin(waiting.party)

    def _begin(self, party: Party) -> None:
        self._began[threading.get_ident()] = time.perf_counter()
        self._now = max(self._now, party.spent)

    def _end(self, party: Party) -> None:
        began, now = self._began.pop(threading.get_ident()), time.perf_counter()
        party.spent += (now - began) / party.weight
        self._free += 1
        self._patient -= party.patient
        self._urgent = self._urgent if party.patient else now

    def _may(self, party: Party) -> bool:
        """Whether a party may have a turn that is free."""
        if not party.patient or self._patient < self._count - 1 or self._count == 1:
            return True
        return time.perf_counter() - self._urgent > RESERVED

    def _grant(self, party: Party) -> None:
        self._free -= 1
        self._patient += party.patient
        self._urgent = self._urgent if party.patient else time.perf_counter()

    def _first(self) -> _Waiting | None:
        """The one who is next, of those that may have a turn."""
        able = (each for each in self._waiting if self._may(each.party))
        return min(able, key=lambda each: each.party.spent, default=None)

    def _hand_out(self) -> None:
        """Give the turns that are free to those who wait."""
        while self._free and (first := self._first()) is not None:
            self._waiting.remove(first)
            self._grant(first.party)
            first.ready.set()
