"""A server stands the faults of ``serve_faults.py``, which sees wrong answers and growing memory."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="the extra serve is not installed")

from tests.tools import serve_faults
from tests.tools.serve_requests import Mutations
from tests.tools.serve_witnesses import Server, Witnesses


@pytest.mark.slow
def test_a_server_stands_all_faults(tiny_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counts = ["--vanish", "60", "--cut", "30", "--slow", "8", "--fuzz", "300", "--clients", "3"]
    code = serve_faults.main([str(tiny_run), *counts])
    printed = capsys.readouterr().out
    assert code == 0, printed
    rows = [line.split() for line in printed.splitlines()]
    assert [row[:2] for row in rows[2:6]] == [["vanish", "60"], ["cut", "30"], ["slow", "8"], ["fuzz", "300"]]
    assert all(int(row[2]) > 0 for row in rows[2:6])  # somebody was answered meanwhile
    assert rows[-1] == ["0", "findings"]


class Confused(BaseHTTPRequestHandler):
    """Answers every text with the same translation."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        row = {"text": "un chat", "source_words": [{"text": "a"}, {"text": "cat"}]}
        body = {"translations": [row], "translatedText": "un chat"}
        content = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Print no line for a request."""


@pytest.fixture
def confused() -> Iterator[Server]:
    one = ThreadingHTTPServer(("127.0.0.1", 0), Confused)
    threading.Thread(target=one.serve_forever, daemon=True).start()
    yield Server(one.server_address[1], Path("log"), None, "en", "fr")  # type: ignore[arg-type]
    one.shutdown()
    one.server_close()


@pytest.mark.parametrize("interface", range(3))
def test_a_mixed_up_answer_is_noticed(confused: Server, interface: int) -> None:
    witnesses = Witnesses(confused, {"a cat": "un chat", "a dog": "un chien"})
    assert witnesses._outcome("a cat", interface) == ("right", "")
    outcome, message = witnesses._outcome("a dog", interface)
    assert outcome == "wrong"
    assert "un chien" in message


def test_a_right_text_for_another_source_is_noticed(confused: Server) -> None:
    """Two texts may have one translation; the words of the source tell whose it is."""
    witnesses = Witnesses(confused, {"the cat": "un chat"})
    assert witnesses._outcome("the cat", 0)[0] == "wrong"


def test_memory_that_grows_is_noticed() -> None:
    assert serve_faults.judge_memory("fuzz", [100.0, 180, 181, 180, 182, 183]) == []
    (message,) = serve_faults.judge_memory("fuzz", [100.0, 120, 140, 160, 180, 200])
    assert "60 MiB" in message


def test_mutations_reach_every_endpoint_and_are_the_same_each_time() -> None:
    endpoints = [("GET", "/health"), ("DELETE", "/v2/glossaries/{id}"), ("POST", "/v2/document/{id}")]
    one, other = (Mutations(7, endpoints, "I love you .", "en", "fr") for _ in range(2))
    sent = [one.next() for _ in range(600)]
    assert [request.encode() for request in sent] == [other.next().encode() for _ in range(600)]
    assert not any("{" in request.path.partition("?")[0] for request in sent)
    for path in (
        "/health",
        "/v2/glossaries/",
        "/v2/document/",
        "/v1/translate",
        "/translate_file",
        "/detect",
    ):
        assert any(request.path.startswith(path) for request in sent), path
