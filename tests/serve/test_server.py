"""Clients that vanish or read slowly, full queues, loading and draining."""

import json
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.serve.client import Client, Gate, eventually
from tests.serve.conftest import LIMITS
from tests.tools import serve_faults
from translate.translator import Translator

LONG = "the old woman sees the dog and the cat and the man and the boy . " * 3
VANISHED = 40


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    return Gate(monkeypatch)


def send(client: Client, text: str = LONG, **fields: object) -> socket.socket:
    """A request whose answer nobody has read yet."""
    body = json.dumps({"text": text, **fields}).encode()
    connection = client.raw()
    connection.sendall(
        b"POST /v1/translate HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    )
    return connection


def idle(client: Client) -> bool:
    service = client.service
    return service.running == 0 and service.engine.pieces == 0 and not service.engine._lanes


def test_clients_that_vanish_leave_the_batch(
    serve: Callable[..., Client], gate: Gate, translator: Translator
) -> None:
    """Their rows are free at the next step, and nobody else's answer is touched."""
    client = serve(limits=replace(LIMITS, requests=5_000, queue=1_000_000))
    answers = []
    asking = threading.Thread(
        target=lambda: answers.append(client.post("/v1/translate", text="I love you .").json)
    )
    asking.start()
    assert gate.entered.wait(60)
    connections = [send(client, alignments=bool(number % 2)) for number in range(VANISHED)]
    eventually(lambda: client.service.running == VANISHED + 1, "all requests")
    for connection in connections:
        connection.close()
    eventually(lambda: client.service.running == 1, "they are noticed")
    gate.open.set()
    asking.join(60)
    (expected,) = translator.translate(["I love you ."])
    assert answers[0]["translations"][0]["text"] == expected.text
    eventually(lambda: idle(client), "an idle server")
    assert client.metric("translate_cancelled_total", model="tiny") == VANISHED
    assert client.metric("translate_requests_total", endpoint="/v1/translate", status="499") == VANISHED
    pieces = len(translator.tokenizers.source.encode("I love you .")) + 1
    assert client.metric("translate_pieces_total", model="tiny", side="source") == pieces


def test_a_full_queue_refuses_and_says_when_to_come_back(serve: Callable[..., Client], gate: Gate) -> None:
    client = serve(limits=replace(LIMITS, queue=200))
    first = send(client)
    assert gate.entered.wait(60)
    replies = [client.post("/v1/translate", text=LONG * 3) for _ in range(3)]
    assert {reply.status for reply in replies} == {429}
    assert all(1 <= int(reply.headers["retry-after"]) <= 60 for reply in replies)
    assert replies[0].json["error"]["code"] == "too_many_requests"
    gate.open.set()
    assert first.recv(20).startswith(b"HTTP/1.1 200")
    first.close()
    eventually(lambda: idle(client), "an idle server")
    assert client.post("/v1/translate", text="I love you .").status == 200


def test_too_many_requests_at_a_time(serve: Callable[..., Client], gate: Gate) -> None:
    client = serve(limits=replace(LIMITS, requests=3))
    connections = [send(client) for _ in range(3)]
    eventually(lambda: client.service.running == 3, "three requests")
    reply = client.post("/v1/translate", text="I love you .")
    assert (reply.status, reply.headers["retry-after"]) == (429, "1")
    gate.open.set()
    for connection in connections:
        assert connection.recv(20).startswith(b"HTTP/1.1 200")
        connection.close()


def test_a_drain_answers_what_was_accepted(serve: Callable[..., Client], gate: Gate) -> None:
    client = serve(drain=30.0)
    waiting, kept = send(client), client.raw()
    assert gate.entered.wait(60)
    client.server.should_exit = True
    assert kept.recv(20) == b""  # a connection without a request ends
    with pytest.raises(ConnectionRefusedError):
        client.raw()
    gate.open.set()
    assert waiting.recv(20).startswith(b"HTTP/1.1 200")
    waiting.close()
    kept.close()


def test_a_drain_that_takes_too_long_refuses_the_rest(serve: Callable[..., Client], gate: Gate) -> None:
    client = serve(drain=0.2)
    waiting = send(client)
    assert gate.entered.wait(60)
    client.server.should_exit = True
    assert waiting.recv(20).startswith(b"HTTP/1.1 503")
    waiting.close()
    gate.open.set()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sign", "code", "workers"), [(signal.SIGTERM, 0, 1), (signal.SIGINT, 130, 1), (signal.SIGTERM, 0, 2)]
)
def test_a_signal_under_load_loses_no_answer(tiny_run: Path, sign: int, code: int, workers: int) -> None:
    """Every request gets its own translation, a refusal, or no connection."""
    expected = serve_faults.translations(str(tiny_run))
    with serve_faults.started(str(tiny_run), "--workers", str(workers)) as server:
        serve_faults.stop_under_load(server, serve_faults.Witnesses(server, expected, 12), sign, code)
    assert server.wrong == []


@pytest.mark.slow
def test_a_worker_that_cannot_load_ends_the_command(tiny_run: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(tiny_run, tmp_path / "run"))
    for weights in run.rglob("*.safetensors"):
        weights.write_bytes(b"damaged")
    command = [sys.executable, "-c", serve_faults.PROGRAM, "serve", str(run), "--port", "0", "--workers=2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert "damaged" in done.stderr
    assert "error: a worker could not load its models" in done.stderr
    assert "Traceback" not in done.stderr
