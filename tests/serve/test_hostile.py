"""Requests that are wrong, hostile, or larger than the limits: refused in the form of the API, quickly."""

import json
import socket
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.serve.client import Client, eventually
from tests.serve.conftest import KEY, LIMITS
from translate.errors import UserError
from translate.serve.limits import needed_bytes
from translate.serve.web import server
from translate.serve.web.keys import Keys

TEXT = {"text": "I love you ."}


def refused(client: Client, body: Any, path: str = "/v1/translate", **headers: str) -> tuple[int, str]:
    reply = client.ask("POST", path, body, headers)
    error = reply.json["error"]
    assert set(error) == {"code", "message"}
    assert "\n" not in error["message"]
    return reply.status, error["message"]


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        (b" ", 400, "empty"),
        (b'{"text": "a', 400, "not JSON (line 1, column 10: Unterminated string"),
        (b"\xff\xfe{", 400, "not JSON"),
        (b'{"text": NaN}', 400, "not JSON"),
        (b"[" * 9_000 + b"]" * 9_000, 400, "expected a"),
        (b'"text"', 400, "a JSON string"),
        ({}, 400, "text: this field is missing"),
        ({**TEXT, "txet": "a"}, 400, "txet: there is no such field"),
        ({**TEXT, "num_beams": 5}, 400, "num_beams: there is no such field; did you mean beam_size?"),
        ({**TEXT, "beam_size": 9}, 400, "beam_size: expected 1 to 8"),
        ({**TEXT, "n_best": 3, "beam_size": 2}, 400, "n_best"),
        ({**TEXT, "source": "zz"}, 400, "zz is not supported"),
        ({**TEXT, "model": "other"}, 400, "model: other is not supported"),
        ({**TEXT, "method": "magic"}, 400, "method"),
        ({**TEXT, "layer": 7}, 400, "layer"),
        ({**TEXT, "heads": [5]}, 400, "head"),
        ({**TEXT, "prefix": ""}, 400, "prefix"),
        ({**TEXT, "prefix": "\U0001f600"}, 400, "vocabulary"),
        ({**TEXT, "constraints": ["le"] * 21}, 400, "constraints"),
        ({**TEXT, "alternatives_at": 99}, 400, "alternatives_at"),
        ({"text": ["a", "b"], "alternatives_at": 0}, 400, "one text, got several"),
        ({**TEXT, "split_sentences": True, "n_best": 2}, 400, "n_best: it is for one sentence"),
        ({"text": ["a"] * 51}, 413, "at most 50"),
        ({"text": "a" * 5_001}, 413, "at most 5,000"),
        ({"text": ["a"] * 11, "prefix": "a" * 500}, 413, "5,511 characters; expected at most 5,000"),
        ({"text": ["a"] * 11, "constraints": ["a" * 300, "b" * 200]}, 413, "5,511 characters"),
        (b'{"text": "\\ud800"}', 400, "text"),
        (b"a" * 20_001, 413, "20,000 bytes"),
    ],
)
def test_a_wrong_request_is_refused_with_its_reason(
    client: Client, body: Any, status: int, says: str
) -> None:
    found, message = refused(client, body)
    assert (found, says in message) == (status, True), message


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"source": "a", "target": ["b", "c"]}, "1 sources but 2 targets"),
        ({"source": "a"}, "target: this field is missing; see /docs"),
        ({"source": "", "target": "le"}, "no words"),
    ],
)
def test_a_wrong_pair_is_refused(client: Client, body: Any, says: str) -> None:
    status, message = refused(client, body, "/v1/align")
    assert status == 400
    assert says in message


@pytest.mark.parametrize("method", ["PUT", "GET", "BREW"])
def test_a_wrong_method_is_told_the_right_one(client: Client, method: str) -> None:
    reply = client.ask(method, "/v1/translate")
    assert reply.status == 405
    assert reply.headers["allow"] == "POST"
    assert reply.json["error"]["code"] == "method_not_allowed"


@pytest.mark.parametrize("path", ["/nothing", "/v1/translate/", "/../etc/passwd", "/v1/%00", "/%ff", "//"])
def test_an_unknown_path(client: Client, path: str) -> None:
    reply = client.ask("GET", path)
    assert reply.status in (404, 400)


MEMORY = replace(LIMITS, memory=1 << 18)
LONG = "the old woman sees the dog and the cat and the man . " * 20
SIDES = {"source_lang": "en", "target_lang": "fr"}


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/v1/translate", {"text": LONG}),
        ("/v1/translate", {"text": LONG, "split_sentences": True, "confidence": False}),
        ("/v1/translate", {"text": LONG, "alignments": False, "beam_size": 8, "n_best": 8}),
        ("/v1/translate", {"text": ["the old woman sees the dog ."] * 50}),
        ("/v1/translate", {"text": "a", "prefix": "le chat " * 500}),
        ("/v1/align", {"source": LONG, "target": LONG, "method": "erasure"}),
        ("/translate", {"q": [LONG] * 2, "source": "en", "target": "fr", "format": "html"}),
        ("/v2/translate", {"text": [LONG] * 2, "split_sentences": "0", **SIDES}),
    ],
)
def test_what_may_need_too_much_memory_is_refused_before_it_is_searched(
    serve: Callable[..., Client], monkeypatch: pytest.MonkeyPatch, path: str, fields: Any
) -> None:
    """Whatever the options; the sentence has the limit."""
    client = serve(limits=MEMORY)
    assert client.post("/v1/translate", text="you sleep .").status == 200
    monkeypatch.setattr(client.service.engine, "submit", None)
    monkeypatch.setattr(client.service.engine, "calculate", None)
    reply = client.ask("POST", path, fields)
    assert reply.status == (400 if path == "/translate" else 413), reply.body
    assert b"MiB of memory; expected at most 0.2: send less text" in reply.body


@pytest.mark.parametrize("method", ["gradient", "erasure"])
def test_an_alignment_that_would_hold_torch_for_long_is_refused(client: Client, method: str) -> None:
    """80 words a side take 6,400 pieces and more in 80 passes; the queue has 4,000."""
    pair = {"source": "the cat " * 40, "target": "le chat " * 40}
    assert client.post("/v1/align", **pair).status == 200
    status, message = refused(client, {**pair, "method": method}, "/v1/align")
    assert status == 413
    assert "at most 4,000, the limit of the queue: use method attention, or a shorter text" in message
    assert client.service.engine.pieces == 0


def test_the_needed_memory_is_that_of_all_answers_and_of_the_largest_search() -> None:
    lengths = [(3, 5), (2, 7)]
    answers = 3 * 5 * 64 + 2 * 7 * 64 + 512 * (3 + 2 * 5 + 2 + 2 * 7)
    assert needed_bytes(lengths, answers=2) == answers
    assert needed_bytes(lengths, answers=2, hypotheses=11, cached=13) == answers + 4 * 11 * 7 * 13
    assert needed_bytes(lengths, answers=2, hypotheses=11, heads=17) == answers + 4 * 11 * 5 * 17 * 3
    hidden = needed_bytes(lengths, heads=17, shown=False)
    assert hidden == 4 * (3 * 5 + 2 * 7) + 64 * (8 + 9) + 4 * 5 * 17 * 3


class TestKeys:
    def test_a_key_is_needed_and_accepted(self, serve: Callable[..., Client]) -> None:
        client = serve(keys=Keys(["another-key-of-one-else", KEY]))
        for headers in ({}, {"Authorization": "Bearer "}, {"Authorization": f"Basic {KEY}"}):
            assert client.ask("POST", "/v1/translate", TEXT, headers).status == 401
        for wrong in (KEY[:-1], KEY + "x", KEY.upper(), "x" * 10_000):
            reply = client.ask("POST", "/v1/translate", TEXT, {"Authorization": f"Bearer {wrong}"})
            assert reply.json["error"]["code"] == "forbidden"
        assert client.ask("POST", "/v1/translate", TEXT, {"Authorization": f"Bearer {KEY}"}).status == 200
        assert client.ask("GET", "/health").status == 200
        assert KEY not in client.log.getvalue()

    def test_no_body_is_read_without_a_key(self, serve: Callable[..., Client]) -> None:
        """The answer comes although nothing of the body does."""
        client = serve(keys=Keys([KEY]))
        for path, status in (("/v1/translate", 401), ("/v2/document", 403)):
            with client.raw() as connection:
                connection.sendall(
                    f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 9999\r\n\r\n".encode()
                )
                assert connection.recv(12) == f"HTTP/1.1 {status}".encode()

    def test_a_file_of_keys(self, tmp_path: Path) -> None:
        path = tmp_path / "keys.txt"
        path.write_text(f"# for the tests\n\n  # another comment\n{KEY}\n  second-key-0123456789  \n")
        keys = Keys.read(path)
        assert keys.needed
        assert keys.accept(KEY)
        assert keys.accept("second-key-0123456789")
        assert not any(map(keys.accept, ("# for the tests", "# another comment", "", None)))

    @pytest.mark.parametrize(
        ("content", "says"),
        [(b"", "no key"), (b"# none\n", "no key"), (b"short\n", "16 to 256"), (b"\xff" * 20, "UTF-8")],
    )
    def test_a_wrong_file_of_keys(self, tmp_path: Path, content: bytes, says: str) -> None:
        path = tmp_path / "keys.txt"
        path.write_bytes(content)
        with pytest.raises(UserError, match=says):
            Keys.read(path)


def flooded(connection: socket.socket, part: bytes) -> bytes:
    """The beginning of the answer to a request without an end; empty if the connection was cut before."""
    try:
        for _ in range(10_000):
            connection.sendall(part)
    except OSError:  # reset, or nobody reads any more
        try:
            return connection.recv(12)
        except OSError:
            return b""
    raise AssertionError("10,000 parts were taken")


def test_a_flood_of_headers_is_cut_off(client: Client) -> None:
    with client.raw() as connection:
        connection.sendall(b"POST /v1/translate HTTP/1.1\r\nHost: a\r\n")
        assert flooded(connection, b"X-Flood: " + b"a" * 1000 + b"\r\n") in (b"", b"HTTP/1.1 400")
    assert client.ask("GET", "/health").status == 200


def test_a_body_without_an_end_is_cut_off(client: Client) -> None:
    with client.raw() as connection:
        connection.sendall(b"POST /v1/translate HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        assert flooded(connection, b"400\r\n" + b" " * 1024 + b"\r\n") in (b"", b"HTTP/1.1 413")


def test_a_slow_body_is_cut_off(serve: Callable[..., Client]) -> None:
    client = serve(limits=replace(LIMITS, seconds=0.2))
    with client.raw() as connection:
        connection.sendall(b"POST /v1/translate HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{")
        answer = connection.recv(1000)
    assert answer.startswith(b"HTTP/1.1 408")


def test_a_second_head_without_an_end_is_cut_off(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A head that has arrived whole is answered, however short the time."""
    request = b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n"
    with client.raw() as connection:
        connection.settimeout(10)
        for _ in range(2):
            connection.sendall(request)
            answer = b""
            while not answer.endswith(b"}"):
                answer += connection.recv(1000)
            assert answer.startswith(b"HTTP/1.1 200")
            monkeypatch.setattr(server, "HEAD_SECONDS", 0.0)
        connection.sendall(request[:9])
        assert connection.recv(1) == b""


def test_a_body_that_is_cut_short_is_no_request(client: Client) -> None:
    before = client.metric("translate_requests_total", endpoint="/v1/translate", status="499")
    with client.raw() as connection:
        connection.sendall(b'POST /v1/translate HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{"text":')
        connection.shutdown(socket.SHUT_WR)

    def given_up() -> float:
        return client.metric("translate_requests_total", endpoint="/v1/translate", status="499") - before

    eventually(lambda: given_up() > 0, "the request is given up")
    assert given_up() == 1


def test_no_client_writes_a_line_of_the_log(serve: Callable[..., Client]) -> None:
    client = serve()
    evil = 'x\n{"event": "ready"}\u2028\x1b[2J\r'
    client.post("/v1/translate", text=evil, model=evil)
    client.ask("GET", "/" + "".join(f"%{byte:02x}" for byte in evil.encode()))
    client.ask("POST", "/v1/translate", TEXT, {"Authorization": "Bearer \t\x1b[2J", "User-Agent": "\x85"})
    with client.raw() as connection:
        connection.sendall(b'GET /x\r\n{"event": "evil"}\r\n\r\n')
        connection.recv(1000)
    eventually(lambda: client.service.running == 0, "all answers")
    for line in client.log.getvalue().splitlines():
        assert line.isascii()
        assert line.isprintable()
        assert json.loads(line)["event"] in ("ready", "request", "library")
        assert "evil" not in line


KINDS = (
    "application/json",
    "application/json; charset=utf-16",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=b",
    "multipart/form-data; boundary=b; charset=none",
    "multipart/form-data",
    "text/plain",
)
PART = b'--b\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n%s\r\n--b--\r\n'
DAMAGED = (
    b"",
    b"\xff" * 99,
    b"\x00",
    b'{"text": "\xff", "q": "\xff"}',
    b'{"text": "\\ud800", "q": "\\ud800", "document_key": "\\ud800", "glossary_id": {}, "api_key": []}',
    b"q=\xff&text=\xff&document_key=%ff&source=en&target=fr&source_lang=en&target_lang=fr",
    PART % (b"q", b"", b"\xff\xfe"),
    PART % (b"file", b'; filename="a.docx"', b"PK\x03\x04\xff"),
    PART % (b"\xff", b'; filename="\xff.txt"', b"\xff"),
)


def test_every_damaged_body_is_refused_by_every_endpoint(client: Client) -> None:
    """Refused as the client's mistake, or answered where the endpoint reads no body."""
    for path, methods in client.ask("GET", "/spec").json["paths"].items():
        for method in methods:
            for kind, body in product(KINDS, DAMAGED):
                place = path.replace("{id}", "a").replace("{name}", "a")
                reply = client.ask(method.upper(), place, body, {"Content-Type": kind})
                assert reply.status < 500, (method, path, kind, body, reply)
    assert '"event": "error"' not in client.log.getvalue()
