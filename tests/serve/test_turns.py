"""Shares of the time, with a clock that the tests set."""

import threading
from collections import Counter

import pytest

from translate.serve.batch import turns
from translate.serve.batch.turns import RESERVED, Party, Turns


class Clock:
    """Stands still until a step takes time."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(turns, "time", clock)
    return clock


def shares(clock: Clock, parties: list[tuple[Party, float]], steps: int) -> Counter[int]:
    """How often each party steps, if a step of it takes so long and all always want another."""
    one, counts = Turns(1), Counter[int]()
    gate = Party()
    one.take(gate)  # nobody begins before all wait
    lock = threading.Lock()

    def run(number: int) -> None:
        party, seconds = parties[number]
        one.take(party)
        while True:
            with lock:
                if sum(counts.values()) >= steps:
                    break
                counts[number] += 1
            clock.now += seconds
            one.renew(party)
        one.give(party)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(parties))]
    for thread in threads:
        thread.start()
    while len(one._waiting) < len(parties):
        pass
    one.give(gate)
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    return counts


def test_equal_parties_have_equal_time(clock: Clock) -> None:
    counts = shares(clock, [(Party(), 1.0), (Party(), 4.0)], 100)
    assert counts[0] == pytest.approx(80, abs=4)


def test_a_weight_is_a_share(clock: Clock) -> None:
    """Steps of documents are ten times as long; sentences still have four parts of five of the time."""
    counts = shares(clock, [(Party(4.0), 1.0), (Party(1.0), 10.0)], 410)
    assert counts[0] / (counts[0] + 10 * counts[1]) == pytest.approx(0.8, abs=0.05)


def test_a_party_that_was_idle_has_saved_nothing(clock: Clock) -> None:
    one = Turns(1)
    busy, idle = Party(), Party()
    one.take(busy)
    for _ in range(50):
        clock.now += 1
        one.renew(busy)
    one.give(busy)
    one.take(idle)
    one.give(idle)
    assert idle.spent >= 49


def held(two: Turns, party: Party) -> threading.Event:
    """A thread that takes a turn; the event says that it has it."""
    has = threading.Event()

    def run() -> None:
        two.take(party)
        has.set()

    threading.Thread(target=run, daemon=True).start()
    return has


def test_a_document_leaves_a_turn_free_while_sentences_come(clock: Clock) -> None:
    """The second turn of a patient party ends at its next step, and comes back when nobody else has come."""
    two, document, sentence = Turns(2), Party(patient=True), Party()
    two.take(sentence)
    two.give(sentence)
    assert held(two, document).wait(60)
    second = held(two, document)
    while not two._waiting:
        pass
    assert not second.is_set()
    two.take(sentence)  # at once
    clock.now += RESERVED + 1
    two.renew(sentence)
    assert not second.is_set()
    two.give(sentence)
    assert not second.is_set()
    clock.now += RESERVED + 1
    two._hand_out()  # as the first does after each step
    assert second.wait(60)


def test_a_document_has_all_turns_if_nobody_else_comes(clock: Clock) -> None:
    two, document = Turns(2), Party(patient=True)
    assert held(two, document).wait(60)
    assert held(two, document).wait(60)


def test_no_more_compute_than_may() -> None:
    two, running, most = Turns(2), 0, 0
    lock = threading.Lock()

    def run() -> None:
        nonlocal running, most
        party = Party()
        for _ in range(20):
            two.take(party)
            with lock:
                running += 1
                most = max(most, running)
            with lock:
                running -= 1
            two.give(party)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert 1 <= most <= 2
