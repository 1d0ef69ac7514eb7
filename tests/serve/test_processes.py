"""Processes that translate: the same texts as the library, whatever dies, goes away or is full."""

import importlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.serve.client import eventually
from tests.serve.test_engine import LINE, LONG, Received
from translate.errors import UserError
from translate.runs.load import load
from translate.serve.batch.calls import Calculation, ServedCall
from translate.serve.batch.crew import Crew
from translate.serve.batch.engine import BusyError, LostError, StoppedError
from translate.serve.batch.handing import Handed, shared_memory
from translate.serve.batch.processes import ProcessEngine
from translate.serve.batch.worker import Given, Worker
from translate.serve.metrics import Metrics
from translate.translation import UNMET
from translate.translator import Translator

pytestmark = pytest.mark.skipif(os.name != "posix", reason="processes are given open files")

WORDS = "I love you the old woman sees dog cat man boy a not green apples .".split()  # noqa: SIM905
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"beam_size": 1},
    {"alignments": True},
    {"n_best": 2},
    {"prefix": "je"},
    {"constraints": ["chien"]},
    {"markup": True},
)


@pytest.fixture(scope="module")
def second(translator: Translator) -> Translator:
    """Another model under another name, which writes other texts."""
    generator = torch.Generator().manual_seed(7)
    other = Handed.pack(translator, memory := shared_memory()).unpack(memory)
    assert isinstance(other, Translator)
    with torch.no_grad():
        for parameter in other.model.parameters():
            parameter.add_(0.05 * torch.randn(parameter.shape, generator=generator))
    return other


@pytest.fixture(scope="module")
def events() -> list[dict[str, Any]]:
    return []


@pytest.fixture(scope="module")
def engine(
    translator: Translator, second: Translator, events: list[dict[str, Any]]
) -> Iterator[ProcessEngine]:
    """Two processes with a model, another one, and both as an ensemble."""
    found = ProcessEngine(
        2, 2, 20_000, Metrics(), lambda event, **more: events.append({"event": event, **more})
    )
    found.start({"tiny": translator, "other": second, "both": translator.join([second])})
    yield found
    crew = [worker.process for worker in found._crew.workers]
    found.close()
    assert all(process.poll() is not None for process in crew)


def ask(
    engine: ProcessEngine, translator: Translator, lines: Sequence[str], name: str = "tiny", **options: Any
) -> tuple[ServedCall, Received]:
    received, growing = Received(), bool(options.pop("growing", False))
    call = ServedCall(name, translator.begin(lines, **options), received, growing)
    engine.submit(call)
    return call, received


def texts_of(received: Received, count: int) -> list[str]:
    eventually(lambda: len(received.results) == count or bool(received.errors), "the translations")
    assert not received.errors
    return [received.results[index].text for index in range(count)]


def idle(engine: ProcessEngine) -> bool:
    free = all(not worker.given and not worker.cost and not worker.bulk for worker in engine._crew.workers)
    return free and not engine._lanes and not engine.pieces


def all_ready(engine: ProcessEngine) -> bool:
    return all(worker.ready for worker in engine._crew.workers)


def some_lines(seed: int, count: int) -> list[str]:
    chance = random.Random(seed)
    return [" ".join(chance.choices(WORDS, k=chance.randint(1, 14))) for _ in range(count)]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_texts_are_those_of_the_library(
    engine: ProcessEngine, translator: Translator, options: dict[str, Any]
) -> None:
    """A sentence, a handful and a document travel side by side."""
    lines = some_lines(1, 40)
    lines[3] = "a <b>man</b> sees {0} dogs ."
    asked = [ask(engine, translator, part, **options) for part in (lines[:1], lines[1:8], lines)]
    for part, (_, received) in zip((lines[:1], lines[1:8], lines), asked, strict=True):
        expected = translator.translate(part, **options)
        assert texts_of(received, len(part)) == [each.text for each in expected]
        for index, each in enumerate(expected):
            found = received.results[index]
            assert found.tokens == each.tokens
            assert [one.text for one in found.n_best] == [one.text for one in each.n_best]
            assert (found.alignment is None) == (each.alignment is None)
            if each.alignment is not None and found.alignment is not None:
                assert found.alignment.source_words == each.alignment.source_words
                assert found.alignment.pharaoh() == each.alignment.pharaoh()
    eventually(lambda: idle(engine), "an idle engine")


def test_models_are_not_mixed_up(engine: ProcessEngine, translator: Translator, second: Translator) -> None:
    """Calls of two models and their ensemble from many threads at once, each with lines of its own."""
    models = {"tiny": translator, "other": second, "both": translator.join([second])}
    expected: dict[tuple[str, int], list[str]] = {}
    for name, model in models.items():
        for number in range(6):
            lines = some_lines(10 + number, 1 + 9 * (number % 4))
            expected[name, number] = [each.text for each in model.translate(lines)]
    found: dict[tuple[str, int], list[str]] = {}

    def run(name: str, number: int) -> None:
        lines = some_lines(10 + number, 1 + 9 * (number % 4))
        found[name, number] = texts_of(ask(engine, models[name], lines, name)[1], len(lines))

    threads = [threading.Thread(target=run, args=key) for key in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == expected
    assert any(expected["tiny", number] != expected["other", number] for number in range(6))


def test_growth_ends_in_the_translation(engine: ProcessEngine, translator: Translator) -> None:
    _, received = ask(engine, translator, [LINE], beam_size=1, growing=True)
    texts_of(received, 1)
    ids = translator.tokenizers.target.ids(received.results[0].tokens)
    assert received.growth
    assert all(each == ids[: len(each)] for each in received.growth)
    assert len(received.growth[-1]) == len(ids)


def test_constraints_that_cannot_be_met_are_told(engine: ProcessEngine, translator: Translator) -> None:
    narrow = replace(translator, search=replace(translator.search, no_repeat_ngram=1), warnings=Counter())
    phrases = ["chien chien chien chien chien chien"]
    call, received = ask(engine, narrow, [LINE], constraints=phrases, beam_size=1)
    (expected,) = narrow.translate([LINE], constraints=phrases, beam_size=1)
    assert texts_of(received, 1) == [expected.text]
    assert call.warnings[UNMET] == narrow.warnings[UNMET] == 1


def test_sentences_as_long_as_the_limit_cross_the_border(
    engine: ProcessEngine, translator: Translator
) -> None:
    """Far more than a pipe holds at once, in pieces and words."""
    lines = [" ".join(WORDS * 12)] * 300
    _, received = ask(engine, translator, lines, alignments=True, beam_size=1)
    (expected,) = translator.translate(lines[:1], alignments=True, beam_size=1)
    assert set(texts_of(received, 300)) == {expected.text}
    eventually(lambda: idle(engine), "an idle engine")


def test_a_calculation_is_that_of_the_library(engine: ProcessEngine, translator: Translator) -> None:
    wanted = Calculation("tiny", translator, 10, Translator.align, ([LINE], ["je t' aime ."]))
    (found,) = engine.calculate(wanted).result(60)
    (expected,) = translator.align([LINE], ["je t' aime ."])
    assert found.weights.tolist() == pytest.approx(expected.weights, abs=1e-5)
    with pytest.raises(UserError, match="1 sources but 2 targets"):
        engine.calculate(replace(wanted, arguments=([LINE], ["a", "b"]))).result(60)
    eventually(lambda: idle(engine), "an idle engine")


def test_cancelled_calls_leave_all_processes(engine: ProcessEngine, translator: Translator) -> None:
    document, received = ask(engine, translator, [LONG, LINE] * 200)
    sentence, _ = ask(engine, translator, [LONG])
    eventually(lambda: bool(received.results), "the first translation")
    engine.cancel(document)
    engine.cancel(sentence)
    assert engine.pieces == 0
    eventually(lambda: idle(engine), "an idle engine")
    metrics = engine._metrics
    assert isinstance(metrics, Metrics)
    eventually(
        lambda: metrics.registry.get_sample_value("translate_batch_sentences", {"model": "tiny"}) == 0,
        "empty batches",
    )
    assert len(received.results) < 400


def test_the_queue_is_bounded(engine: ProcessEngine, translator: Translator) -> None:
    document, _ = ask(engine, translator, [LONG] * 900)
    with pytest.raises(BusyError):
        ask(engine, translator, [LONG] * 900)
    engine.cancel(document)
    eventually(lambda: idle(engine), "an idle engine")


def busy(engine: ProcessEngine) -> Worker:
    return max(engine._crew.workers, key=lambda worker: worker.cost)


def test_what_a_dead_process_had_is_translated_elsewhere(
    engine: ProcessEngine, translator: Translator, events: list[dict[str, Any]]
) -> None:
    """Documents and sentences, calculations, too; another process takes its place."""
    eventually(lambda: all_ready(engine), "all processes")
    lines = some_lines(5, 150)
    asked = [(part, ask(engine, translator, part)[1]) for part in (lines, lines[:1], lines[3:9])]
    victim = busy(engine)
    assert victim.given
    os.kill(victim.process.pid, signal.SIGKILL)
    wanted = Calculation("tiny", translator, 10, Translator.align, ([LINE], ["je t' aime ."]))
    results = [engine.calculate(wanted) for _ in range(5)]
    for part, received in asked:
        assert texts_of(received, len(part)) == [each.text for each in translator.translate(part)]
        assert len(received.results) == len(part)
    assert [each.result(60)[0].pharaoh() for each in results] == [
        translator.align([LINE], ["je t' aime ."])[0].pharaoh()
    ] * 5
    eventually(lambda: all_ready(engine) and idle(engine), "a new process")
    assert victim not in engine._crew.workers
    assert {"event": "process ended", "number": victim.number, "code": -signal.SIGKILL} in events


def test_a_process_that_hangs_is_ended(
    engine: ProcessEngine,
    translator: Translator,
    events: list[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    eventually(lambda: all_ready(engine), "both processes")
    monkeypatch.setattr(importlib.import_module("translate.serve.batch.crew"), "MOST_SILENT", 4)
    lines = some_lines(7, 30)
    victim = engine._crew.workers[0]
    os.kill(victim.process.pid, signal.SIGSTOP)
    _, received = ask(engine, translator, lines)
    assert texts_of(received, len(lines)) == [each.text for each in translator.translate(lines)]
    hung = [each for each in events if each["event"] == "process hangs"]
    assert victim.number in [each["number"] for each in hung]
    assert {"event": "process ended", "number": victim.number, "code": -signal.SIGKILL} in events
    eventually(lambda: all_ready(engine) and idle(engine), "another process")


def test_an_engine_works_while_a_process_is_there(translator: Translator) -> None:
    one = ProcessEngine(1, 1, 20_000, Metrics(), lambda *_, **__: None)
    assert not one.works
    one.start({"tiny": translator})
    assert one.works
    (process,) = one.processes
    os.kill(process, signal.SIGKILL)
    eventually(lambda: not one.works, "the end of the process")
    eventually(lambda: one.works, "another one", 120)
    one.close()


def test_only_what_ends_three_processes_is_lost(
    engine: ProcessEngine, translator: Translator, events: list[dict[str, Any]]
) -> None:
    """A calculation that kills whoever does it; the sentences beside it are translated."""
    eventually(lambda: all_ready(engine), "all processes")
    before = len(events)
    lines = some_lines(6, 60)
    deadly = Calculation("tiny", translator, 10, end_process, ())
    _, received = ask(engine, translator, lines)
    with pytest.raises(LostError):
        engine.calculate(deadly).result(120)
    assert texts_of(received, 60) == [each.text for each in translator.translate(lines)]
    eventually(lambda: all_ready(engine) and idle(engine), "new processes", 120)
    assert [each["event"] for each in events[before:]] == ["process ended"] * 3


def end_process(translator: Translator) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_processes_do_not_hear_the_signals_of_the_server(
    engine: ProcessEngine, translator: Translator
) -> None:
    """The terminal and systemd send them to all processes; the server drains."""
    eventually(lambda: all_ready(engine), "all processes")
    processes = [worker.process for worker in engine._crew.workers]
    _, received = ask(engine, translator, some_lines(8, 60))
    for process in processes:
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
    texts_of(received, 60)
    assert [process.poll() for process in processes] == [None, None]


def test_documents_leave_a_process_to_sentences(
    engine: ProcessEngine, translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    eventually(lambda: all_ready(engine), "all processes")
    busy_with_documents, give = set(), Worker.give

    def noted(worker: Worker, number: int, given: Given, *message: Any) -> None:
        if given.key is not None and given.key.bulk:
            busy_with_documents.add(worker.process.pid)
        give(worker, number, given, *message)

    monkeypatch.setattr(Worker, "give", noted)
    monkeypatch.setattr("translate.serve.batch.processes.RESERVED", 60.0)  # however fast the machine is
    small = replace(translator, search=replace(translator.search, batch_size=4))
    _, first = ask(engine, small, [LINE])
    document, received = ask(engine, small, [LONG] * 400)
    texts_of(first, 1)
    eventually(lambda: len(received.results) >= 20, "some of the document")
    assert len(busy_with_documents) == 1
    monkeypatch.setattr("translate.serve.batch.processes.RESERVED", 0.0)  # nobody else has come for a while
    eventually(lambda: len(busy_with_documents) == 2, "the other")
    engine.cancel(document)
    eventually(lambda: idle(engine), "an idle engine")


def test_a_call_that_stops_is_told(translator: Translator) -> None:
    one = ProcessEngine(1, 1, 20_000, Metrics(), lambda *_, **__: None)
    one.start({"tiny": translator})
    _, received = ask(one, translator, [LONG] * 500)
    waits = one.calculate(Calculation("tiny", translator, 1, time.sleep, ()))  # fails, or is not reached
    one.stop()
    assert [type(error) for error in received.errors] == [StoppedError]
    with pytest.raises(StoppedError):
        ask(one, translator, [LINE])
    one.close()
    assert waits.exception(60) is not None
    assert one.processes == []


def test_plugins_are_found_that_came_with_the_models(
    translator: Translator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run is read, and its plugins with it, when the processes have begun."""
    one = ProcessEngine(1, 1, 100, Metrics(), lambda *_, **__: None)
    (tmp_path / "late_plugin.py").write_text("def name(translator): return __name__\n")
    monkeypatch.syspath_prepend(tmp_path)
    one.start({"tiny": translator})
    function = importlib.import_module("late_plugin").name
    assert one.calculate(Calculation("tiny", translator, 1, function, ())).result(60) == "late_plugin"
    one.close()


@pytest.mark.parametrize("kind", [{"int8": True}, {"precision": "bfloat16"}], ids=str)
def test_rounded_models_translate_as_they_do_in_the_library(tiny_run: Path, kind: dict[str, Any]) -> None:
    rounded = load(tiny_run, device="cpu", **kind)
    one = ProcessEngine(1, 1, 20_000, Metrics(), lambda *_, **__: None)
    used = one.start({"tiny": rounded})["tiny"]
    lines = some_lines(9, 12)
    _, received = ask(one, used, lines)
    assert texts_of(received, 12) == [each.text for each in rounded.translate(lines)]
    one.close()


def test_a_process_that_cannot_begin_ends_the_server(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("translate.serve.batch.worker.ENTRY", "raise SystemExit(3)")
    one = ProcessEngine(1, 1, 100, Metrics(), lambda *_, **__: None)
    with pytest.raises(UserError, match="--workers 1"):
        one.start({"tiny": translator})
    one.close()


def test_weights_are_shared_and_tied_ones_stay_tied(translator: Translator) -> None:
    memory = shared_memory()
    handed = Handed.pack(translator.model, memory)
    first, second = handed.unpack(memory), handed.unpack(memory)
    for name, parameter in translator.model.state_dict().items():
        found = first.state_dict()[name]
        assert (found.shape, found.stride(), found.dtype) == (
            parameter.shape,
            parameter.stride(),
            parameter.dtype,
        )
        assert torch.equal(found, parameter)
    assert len(list(first.parameters())) == len(list(translator.model.parameters()))
    with torch.no_grad():
        next(first.parameters()).fill_(3.0)
    assert torch.equal(next(first.parameters()), next(second.parameters()))
    assert len(handed.pickled) < sum(each.numel() for each in first.parameters())
    os.close(memory)


ORPHANS = """
import os, signal, sys
from translate.runs.load import load
from translate.serve.batch.processes import ProcessEngine
from translate.serve.metrics import Metrics
if __name__ == "__main__":
    engine = ProcessEngine(2, 2, 100, Metrics(), print)
    if sys.argv[2] == "ready":
        engine.start({"tiny": load(sys.argv[1], device="cpu")})
    print(*engine.processes, flush=True)
    signal.pause()
"""


@pytest.mark.parametrize("state", ["ready", "beginning"])
def test_no_process_outlives_a_server_that_is_killed(tiny_run: Path, state: str) -> None:
    command = [sys.executable, "-c", ORPHANS, str(tiny_run), state]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    server = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    processes = [int(each) for each in server.stdout.readline().split()]
    assert len(processes) == 2
    server.kill()
    server.wait()
    server.stdout.close()
    eventually(lambda: not any(map(is_alive, processes)), "their end")


def is_alive(process: int) -> bool:
    """Whether a process runs; one that nobody has waited for does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_a_crew_waits_longer_and_longer_for_a_process_that_is_never_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("translate.serve.batch.worker.ENTRY", "raise SystemExit(3)")
    changed, ended = threading.Condition(), threading.Event()
    crew = Crew(1, 1, changed, lambda *_: None, lambda _: ended.set(), lambda *_, **__: None)
    crew._models = Handed(b"", 0)
    pauses: list[float] = []

    def waited(seconds: float) -> bool:
        pauses.append(seconds)
        return False

    monkeypatch.setattr(crew._closing, "wait", waited)
    for was_ready in (True, False, False, False, True):
        crew.replace(crew.workers[0], was_ready=was_ready)
    crew.close()
    assert pauses == [0.0, 0.5, 1.0, 2.0, 0.0]
