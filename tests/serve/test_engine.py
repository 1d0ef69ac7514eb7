"""The engine without HTTP: order, shares, drops, failures, limits."""

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.serve.client import Gate, eventually
from translate.search.running import RunningBatch
from translate.serve import engine as engine_module
from translate.serve import lanes
from translate.serve.calls import QueuedSentence, ServedCall
from translate.serve.engine import Engine
from translate.serve.lanes import Feed, Lane, Party, Turns
from translate.serve.monitoring import Metrics
from translate.serve.web.requests import RefusalError
from translate.translation import Translation
from translate.translation_call import UNMET
from translate.translator import Translator

LINE, LONG = "I love you .", "the old woman sees the dog and the cat and the man and the boy ."


class Received:
    """What is done of a call."""

    def __init__(self, call: ServedCall) -> None:
        self._call, self._blank = call, list(call.results)

    @property
    def results(self) -> dict[int, Translation]:
        both = enumerate(zip(self._call.results, self._blank, strict=True))
        return {index: result for index, (result, blank) in both if result is not blank}

    @property
    def errors(self) -> list[BaseException]:
        future = self._call.future
        error = future.exception() if future.done() else None
        return [] if error is None else [error]


def texts_of(received: Received, count: int) -> list[str]:
    eventually(lambda: len(received.results) == count or bool(received.errors), "the translations")
    assert not received.errors
    return [received.results[index].text for index in range(count)]


@pytest.fixture
def engine() -> Iterator[Engine]:
    found = Engine(1, 3_000, Metrics())
    yield found
    found.close()


def new_call(translator: Translator, lines: Sequence[str], **options: Any) -> tuple[ServedCall, Received]:
    call = ServedCall("tiny", replace(translator, warnings=Counter()).begin(lines, **options))
    return call, Received(call)


def test_the_queue_is_bounded_in_pieces(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(monkeypatch)
    engine = Engine(1, 100, Metrics())
    first, received = new_call(translator, [LONG] * 3)
    engine.submit(first)
    with pytest.raises(RefusalError):
        engine.submit(new_call(translator, [LONG] * 20)[0])
    with pytest.raises(RefusalError):
        engine.calculate(1_000, str)
    gate.open.set()
    eventually(lambda: len(received.results) == 3 and not engine.pieces, "the first call")
    engine.submit(new_call(translator, [LONG] * 20)[0])  # alone it may be larger than the queue
    engine.close()


def test_only_the_sentence_at_fault_is_lost(
    engine: Engine, translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch that fails is tried again, each sentence alone."""
    gate, begin = Gate(monkeypatch), engine_module.begin
    bad, lost = new_call(translator, [LONG])
    good, kept = new_call(translator, [LINE, LONG])

    def fail(jobs: Sequence[QueuedSentence]) -> object:
        if any(job.call is bad for job in jobs):
            raise MemoryError("a test")
        return begin(jobs)

    monkeypatch.setattr(engine_module, "begin", fail)
    blocker, _ = new_call(translator, [LINE])
    engine.submit(blocker)
    assert gate.entered.wait(60)
    engine.submit(bad)
    engine.submit(good)
    gate.open.set()
    eventually(lambda: len(kept.results) == 2 and bool(lost.errors), "both calls")
    assert isinstance(lost.errors[0], MemoryError)
    assert not kept.errors
    assert [kept.results[i].text for i in (0, 1)] == [t.text for t in translator.translate([LINE, LONG])]
    eventually(lambda: engine.pieces == 0, "an empty queue")


def test_constraints_that_cannot_be_met_are_left_out_and_told(engine: Engine, translator: Translator) -> None:
    narrow = replace(translator, search=replace(translator.search, max_length=6), warnings=Counter())
    lines, phrases = [LINE], ["chien vieille femme maison"]
    call, received = new_call(narrow, lines, constraints=phrases, beam_size=1)
    engine.submit(call)
    eventually(lambda: len(received.results) == 1, "the translation")
    (expected,) = narrow.translate(lines, constraints=phrases, beam_size=1)
    assert received.results[0].text == expected.text
    assert call.translation.warnings[UNMET] == narrow.warnings[UNMET]


def test_a_glossary_translates_as_without_the_server(engine: Engine, translator: Translator) -> None:
    lines, glossary = [LINE, LONG], {"love": "chien", "old": "femme", "dog": "vieille"}
    call, received = new_call(translator, lines, glossary=glossary)
    engine.submit(call)
    eventually(lambda: len(received.results) == len(lines), "the translations")
    expected = translator.translate(lines, glossary=glossary)
    assert [received.results[i].text for i in range(2)] == [result.text for result in expected]
    assert "chien" in expected[0].text
    eventually(lambda: engine.pieces == 0, "an empty queue")


def order(lane: Lane, size: int = 1) -> list[ServedCall]:
    found = []
    while jobs := lane.next(size):
        found += [job.call for job in jobs]
    return found


def test_calls_share_a_lane(translator: Translator) -> None:
    """The short call that came last is done before the long one; neither waits for the other's end."""
    long, short = new_call(translator, [LONG] * 6)[0], new_call(translator, [LINE] * 2)[0]
    lane = Lane(long.lane(long.jobs()))
    lane.add(long.jobs())
    assert lane.next(1)[0].call is long
    lane.add(short.jobs())
    assert order(lane) == [long, short] * 2 + [long] * 3


def test_no_call_waits_for_ever(translator: Translator) -> None:
    """More short calls keep coming than can be translated; the long one still gets its part."""
    long = new_call(translator, [LONG] * 10)[0]
    lane = Lane(long.lane(long.jobs()))
    lane.add(long.jobs())
    taken = 0
    for _ in range(100):
        lane.add(new_call(translator, [LINE])[0].jobs())
        lane.add(new_call(translator, [LINE])[0].jobs())
        taken += lane.next(1)[0].call is long
    assert taken >= 5


def test_a_document_of_many_batches_is_translated_beside_sentences(
    engine: Engine, translator: Translator
) -> None:
    """A document's sentences begin together and are parked when half of them are done; none is lost."""
    small = replace(translator, search=replace(translator.search, batch_size=8))
    lines = [" ".join(LONG.split()[: 3 + number % 13]) for number in range(90)]
    document, received = new_call(small, lines)
    sentences = [new_call(small, [LINE]) for _ in range(5)]
    engine.submit(document)
    for call, _ in sentences:
        engine.submit(call)
    expected = [result.text for result in small.translate(lines)]
    assert texts_of(received, len(lines)) == expected
    eventually(lambda: all(own.results for _, own in sentences), "the sentences")


class Clock:
    """Stands still until a step takes time."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(lanes, "time", clock)
    return clock


def test_the_weight_of_a_party_is_its_share_of_the_time(clock: Clock) -> None:
    """Whatever a step takes; only one party computes at a time."""
    parties = [(Party(4.0), 1.0), (Party(1.0), 10.0)]  # and the seconds of a step
    turns, spent, running = Turns(), [0.0, 0.0], 0

    def run(number: int) -> None:
        nonlocal running
        party, seconds = parties[number]
        with turns.turn(party):
            while sum(spent) < 400:
                running += 1
                assert running == 1
                spent[number] += seconds
                clock.now += seconds
                running -= 1
                turns.renew(party)

    with turns.turn(Party()):  # nobody begins before both wait
        threads = [threading.Thread(target=run, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        eventually(lambda: len(turns._waiting) == 2, "both")
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert spent[0] / sum(spent) == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize(("lines", "at", "most"), [([LONG] * 4, 1, 3), ([LONG, LINE, LINE] * 30, 20, 24)])
def test_a_cancelled_call_makes_no_further_steps(
    engine: Engine,
    translator: Translator,
    monkeypatch: pytest.MonkeyPatch,
    lines: list[str],
    at: int,
    most: int,
) -> None:
    """Each batch, those of a document that are parked too, sees it at its next step."""
    small, steps = replace(translator, search=replace(translator.search, batch_size=8)), 0
    call, received = new_call(small, lines)
    after_step = Feed.after_step

    def counted(feed: Feed, running: RunningBatch) -> None:
        nonlocal steps
        steps += 1
        if steps == at:
            engine.cancel(call)
        after_step(feed, running)

    monkeypatch.setattr(Feed, "after_step", counted)
    engine.submit(call)
    eventually(lambda: not engine._lanes and not engine.pieces, "an idle engine")
    assert len(received.results) < len(lines)
    assert at <= steps <= most
