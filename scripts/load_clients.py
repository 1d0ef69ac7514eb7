"""Clients that ask a server of this machine again and again, in one thread: for ``scripts/load.py``."""

import json
import selectors
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

MAX_SECONDS = 600
CPU = ("process_cpu_seconds_total ", "translate_worker_cpu_seconds_total{")  # of /metrics
HEADING = "clients  sentences/s  median ms  99th ms  refused  failed  server CPU ms  client CPU ms"


@dataclass(frozen=True)
class Server:
    """Where to ask, and how.

    Attributes:
        host, port: of this machine.
        api: libretranslate, own or eole.
        source, target: codes of the languages.
        model: an identifier that Eole wants.
    """

    host: str
    port: int
    api: str
    source: str
    target: str
    model: str

    def request(self, texts: Sequence[str]) -> tuple[str, dict[str, Any]]:
        """Path and body of a request."""
        if self.api == "eole":
            return "/infer", {"model": self.model, "inputs": texts}
        if self.api == "own":
            return "/v1/translate", {"text": texts, "alignments": False}
        languages = {"source": self.source, "target": self.target}
        return "/translate", {"q": texts if len(texts) > 1 else texts[0], **languages}

    def message(self, texts: Sequence[str]) -> bytes:
        """A request on the wire."""
        path, fields = self.request(texts)
        body = json.dumps(fields).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\nContent-Type: application/json\r\n"
        return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body

    def cpu(self) -> float:
        """Seconds of processors that it has used, if it tells them."""
        try:
            with urlopen(f"http://{self.host}:{self.port}/metrics", timeout=10) as answer:
                lines = answer.read().decode().splitlines()
        except (URLError, OSError, ValueError):
            return float("nan")
        found = [float(line.rpartition(" ")[2]) for line in lines if line.startswith(CPU)]
        return sum(found) if found else float("nan")


@dataclass
class Results:
    """What the clients have seen."""

    seconds: list[float] = field(default_factory=list)
    refused: int = 0
    failed: int = 0
    took: float = 0.0  # seconds from the first request to the last answer
    server_cpu: float = float("nan")  # seconds
    client_cpu: float = float("nan")

    def add(self, status: int, seconds: float) -> None:
        """An answer."""
        if status == 200:
            self.seconds.append(seconds)
        elif status in (429, 503):
            self.refused += 1
        else:
            self.failed += 1

    def row(self, clients: str) -> str:
        """A line below ``HEADING``."""
        answers = max(1, len(self.seconds) + self.refused + self.failed)
        middle, worst = (1000 * quantile(self.seconds, share) for share in (0.5, 0.99))
        server, client = (1000 * each / answers for each in (self.server_cpu, self.client_cpu))
        return (
            f"{clients:>7}  {len(self.seconds) / self.took:11.1f}  {middle:9.1f}  {worst:7.1f}  "
            f"{self.refused:7}  {self.failed:6}  {server:13.2f}  {client:13.2f}"
        )


class Client:
    """A connection that is kept."""

    def __init__(self, server: Server) -> None:
        self.socket = socket.create_connection((server.host, server.port), timeout=MAX_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received, self._began, self._expected = b"", 0.0, 0

    def send(self, message: bytes) -> None:
        """Ask; nothing is asked before the last answer is there."""
        self._received, self._expected, self._began = b"", 0, time.perf_counter()
        self.socket.sendall(message)

    def read(self) -> tuple[int, float] | None:
        """Read what has come: status and seconds of the request if that is the whole answer.

        Raises:
            OSError: if the connection ends, or the answer does not tell its length.
        """
        part = self.socket.recv(1 << 16)
        if not part:
            raise ConnectionResetError("the server has closed the connection")
        self._received = self._received + part if self._received else part
        if not self._expected:
            end = self._received.find(b"\r\n\r\n")
            if end < 0:
                return None
            head = self._received[:end].lower()
            _, told, length = head.partition(b"\r\ncontent-length:")
            if not told:
                raise OSError("the answer does not tell its length")
            self._expected = end + 4 + int(length.split(b"\r\n", 1)[0])
        if len(self._received) < self._expected:
            return None
        return int(self._received[9:12]), time.perf_counter() - self._began

    def ask(self, message: bytes) -> tuple[int, float]:
        """Status and seconds of one request."""
        self.send(message)
        while (found := self.read()) is None:
            pass
        return found


def measure(
    server: Server, messages: Sequence[bytes], clients: int, requests: int, seconds: float
) -> Results:
    """Let clients ask in turn, until all is asked or the time is over."""
    results, selector = Results(), selectors.DefaultSelector()
    left = iter([messages[number % len(messages)] for number in range(requests)])
    cpu, own = server.cpu(), time.process_time()
    began = time.perf_counter()
    end = began + seconds

    def go_on(client: Client) -> None:
        message = next(left, None) if time.perf_counter() < end else None
        if message is None:
            selector.unregister(client.socket)
            client.socket.close()
        else:
            client.send(message)

    for _ in range(clients):
        client = Client(server)
        selector.register(client.socket, selectors.EVENT_READ, client)
        go_on(client)
    while selector.get_map():
        for key, _ in selector.select():
            try:
                found = key.data.read()
                if found is not None:
                    results.add(*found)
                    go_on(key.data)
            except OSError:
                results.failed += 1
                selector.unregister(key.fileobj)
                key.data.socket.close()
    results.took = time.perf_counter() - began
    results.client_cpu = time.process_time() - own
    results.server_cpu = server.cpu() - cpu
    return results


def quantile(values: Sequence[float], share: float) -> float:
    """The value that a share of the others does not exceed."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else float("nan")
