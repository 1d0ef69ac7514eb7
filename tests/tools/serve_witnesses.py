"""A server for `serve_faults.py`, and clients that do nothing wrong and check their answers."""

import http.client
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.tools.serve_requests import Sent, posted

HOST, SECONDS = "127.0.0.1", 120.0  # for an answer; a machine with other work is slow


@dataclass
class Server:
    """``translate serve`` in a process of its own.

    Attributes:
        port: of 127.0.0.1.
        log: where it writes.
        process: its process.
        source, target: codes of its languages.
    """

    port: int
    log: Path
    process: subprocess.Popen[bytes]
    source: str = ""
    target: str = ""

    @classmethod
    def start(cls, run: str, folder: Path) -> "Server":
        """A server that takes requests."""
        with socket.socket() as free:
            free.bind((HOST, 0))
            port = free.getsockname()[1]
        entry = "import sys; from translate.cli.main import main; main()"
        options = ["--port", str(port), "--threads", "2", "--max-queue", "2000000"]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen([sys.executable, "-c", entry, "serve", run, *options], stderr=log)
        server = cls(port, folder / "log", process)
        until = time.monotonic() + SECONDS
        while not server._is_ready():
            if process.poll() is not None or time.monotonic() > until:
                process.kill()
                raise SystemExit(f"error: the server does not begin: {server.log.read_text()[-500:]}")
            time.sleep(0.1)
        (model,) = server.get("/v1/models")["models"]
        server.source, server.target = model["source"], model["target"]
        return server

    def _is_ready(self) -> bool:
        try:
            return ask(self, Sent("GET", "/ready")).status == 200
        except OSError:
            return False

    def get(self, path: str) -> Any:
        """The JSON at a path."""
        return json.loads(ask(self, Sent("GET", path)).body)

    def metric(self, name: str) -> float:
        """The sum of a metric over its labels."""
        text = ask(self, Sent("GET", "/metrics")).body.decode()
        return sum(float(value) for value in re.findall(rf"^{name}(?:{{.*}})? (\S+)$", text, re.MULTILINE))

    def memory(self) -> float:
        """MiB that its process holds."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def connect(self, *, buffer: int = 0) -> socket.socket:
        """A connection; its client takes ``buffer`` bytes at a time."""
        connection = socket.socket()
        if buffer:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        connection.settimeout(SECONDS)
        connection.connect((HOST, self.port))
        return connection


@dataclass(frozen=True)
class Reply:
    """Status, type and body of an answer."""

    status: int
    kind: str
    body: bytes


def ask(server: Server, sent: Sent) -> Reply:
    """The answer to a request on a connection of its own.

    Raises:
        OSError: if there is none.
    """
    with server.connect() as connection:
        connection.sendall(sent.encode())
        if "Content-Length" in sent.headers:  # not the body's length: end the request here
            connection.shutdown(socket.SHUT_WR)
        return receive(connection, sent.method)


def receive(connection: socket.socket, method: str) -> Reply:
    """The answer that comes on a connection."""
    response = http.client.HTTPResponse(connection, method=method)
    try:
        response.begin()
        return Reply(response.status, response.getheader("Content-Type", ""), response.read())
    except http.client.HTTPException as error:
        raise ConnectionError(f"{type(error).__name__}: {error}") from error


@dataclass
class Witnesses:
    """Clients that do nothing wrong, in threads of their own, and the outcomes of their requests.

    Attributes:
        server: answers them.
        expected: the right translations by text.
    """

    server: Server
    expected: dict[str, str]
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self, count: int) -> None:
        """Start clients that ask until :meth:`stop`, or until the server refuses them."""
        self._threads = [threading.Thread(target=self._ask, args=(number, count)) for number in range(count)]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Wait for their last answers."""
        self._stop.set()
        for thread in self._threads:
            thread.join(SECONDS)
            if thread.is_alive():
                self.wrong.append("a request has no answer")

    def _ask(self, number: int, count: int) -> None:
        lines = list(self.expected)
        while not self._stop.is_set():
            line = lines[number % len(lines)]
            outcome, wrong = self._outcome(line, number)
            with self._lock:
                self.counts[outcome] += 1
                if wrong:
                    self.wrong.append(wrong)
            if outcome in ("refused", "not accepted"):
                return
            number += count

    def _outcome(self, line: str, number: int) -> tuple[str, str]:
        """The kind of outcome of a request, and the fault if there is one."""
        languages = {"source": self.server.source, "target": self.server.target}
        long_names = {f"{name}_lang": code for name, code in languages.items()}
        path, fields, read = (
            ("/v1/translate", {"text": line}, lambda answer: answer["translations"][0]["text"]),
            ("/translate", {"q": line, **languages}, lambda answer: answer["translatedText"]),
            (
                "/v2/translate",
                {"text": [line], **long_names},
                lambda answer: answer["translations"][0]["text"],
            ),
        )[number % 3]
        try:
            reply = ask(self.server, posted(path, fields))
        except ConnectionError:
            return "not accepted", ""
        except OSError as error:
            return "lost", f"{line}: {error}"
        if reply.status in (429, 503):
            return "refused", ""
        try:
            found = read(json.loads(reply.body))
        except (ValueError, LookupError, TypeError):
            return "wrong", f"{line}: {reply.status} {reply.body[:200]!r}"
        return ("right", "") if found == self.expected[line] else ("wrong", f"{line}: {found!r}")
