"""Measures a server on this machine: sentences a second and latency with 1, 8 and 64 clients at once.

    python scripts/bench_serve.py http://127.0.0.1:5000 --lines test.en --source en --target fr --document 500

It speaks LibreTranslate's interface, so other servers that have it can be measured too; ``--api own`` speaks
this project's. A client keeps its connection, and asks for the next line when it has an answer. One thread
of sockets speaks for all clients, with requests that are written beforehand, because it shares the processor
with the server; the last columns are the CPU milliseconds of a request on both sides. ``--document N`` also
measures the latency of one line alone, and beside a document of N lines.
"""

import argparse
import json
import selectors
import socket
import statistics
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

LOCAL = ("127.0.0.1", "::1", "localhost")
MAX_CLIENTS, MAX_REQUESTS, MAX_SECONDS = 256, 100_000, 600
CPU = "process_cpu_seconds_total "  # of /metrics
HEADING = "clients  sentences/s  median ms  99th ms  refused  failed  server CPU ms  client CPU ms"


@dataclass(frozen=True)
class Server:
    """The address of a server on this machine, its interface, and the languages to ask for."""

    host: str
    port: int
    api: str
    source: str
    target: str

    def message(self, texts: Sequence[str]) -> bytes:
        """The bytes of a request."""
        if self.api == "own":
            path, body = "/v1/translate", json.dumps({"text": texts, "alignments": False}).encode()
        else:
            text = texts if len(texts) > 1 else texts[0]
            path = "/translate"
            body = json.dumps({"q": text, "source": self.source, "target": self.target}).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\nContent-Type: application/json\r\n"
        return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body

    def cpu(self) -> float:
        """Seconds of processors that the server has used; NaN if it has no such metric."""
        try:
            with urlopen(f"http://{self.host}:{self.port}/metrics", timeout=10) as answer:
                lines = answer.read().decode().splitlines()
        except (URLError, OSError, ValueError):
            return float("nan")
        found = [float(line.rpartition(" ")[2]) for line in lines if line.startswith(CPU)]
        return sum(found) if found else float("nan")


@dataclass
class Results:
    """The answers that the clients have had."""

    seconds: list[float] = field(default_factory=list)
    refused: int = 0
    failed: int = 0
    took: float = 0.0  # seconds from the first request to the last answer
    server_cpu: float = float("nan")  # seconds
    client_cpu: float = float("nan")

    def add(self, status: int, seconds: float) -> None:
        if status == 200:
            self.seconds.append(seconds)
        elif status in (429, 503):
            self.refused += 1
        else:
            self.failed += 1

    def row(self, clients: int) -> str:
        """A line below ``HEADING``."""
        answers = max(1, len(self.seconds) + self.refused + self.failed)
        middle, worst = (1000 * quantile(self.seconds, share) for share in (0.5, 0.99))
        server, client = (1000 * seconds / answers for seconds in (self.server_cpu, self.client_cpu))
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
        """Send a request; the answer to the last one must have come."""
        self._received, self._expected, self._began = b"", 0, time.perf_counter()
        self.socket.sendall(message)

    def read(self) -> tuple[int, float] | None:
        """Read what has come, and return status and seconds of the request once the answer is complete.

        Raises:
            OSError: if the connection ends, or the answer has no length.
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
            _, found, length = head.partition(b"\r\ncontent-length:")
            if not found:
                raise OSError("the answer has no length")
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
    """Let clients ask until all requests are answered or the time is over."""
    results, selector = Results(), selectors.DefaultSelector()
    left = iter([messages[number % len(messages)] for number in range(requests)])
    cpu, own = server.cpu(), time.process_time()
    began = time.perf_counter()

    def go_on(client: Client) -> None:
        message = next(left, None) if time.perf_counter() < began + seconds else None
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
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else float("nan")


def beside_document(server: Server, line: str, document: Sequence[str], times: int) -> tuple[float, float]:
    """The median latency of a line alone, and while a document is translated."""
    client, message = Client(server), server.message([line])
    alone = [client.ask(message)[1] for _ in range(times)]
    beside: list[float] = []
    thread = threading.Thread(target=lambda: Client(server).ask(server.message(document)))
    thread.start()
    time.sleep(0.2)  # until the document fills the batch
    while thread.is_alive() and len(beside) < times:
        seconds = client.ask(message)[1]
        if thread.is_alive():
            beside.append(seconds)
    thread.join()
    return statistics.median(alone), statistics.median(beside) if beside else float("nan")


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("url", help="http://127.0.0.1:PORT")
    parser.add_argument("--lines", required=True, type=Path, help="a file of source sentences")
    parser.add_argument("--source", default="en")
    parser.add_argument("--target", default="fr")
    parser.add_argument("--api", choices=["libretranslate", "own"], default="libretranslate")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--requests", type=int, default=500, help="requests of a row")
    parser.add_argument("--seconds", type=float, default=60, help="longest time of a row")
    parser.add_argument("--document", type=int, default=0, help="lines of a document to measure beside")
    given = parser.parse_args(arguments)
    address = urlsplit(given.url)
    if address.scheme != "http" or address.hostname not in LOCAL:
        parser.error(f"only servers on this machine are asked: http://127.0.0.1:PORT, got {given.url}")
    if max(given.clients) > MAX_CLIENTS or min(given.clients) < 1:
        parser.error(f"--clients: expected 1 to {MAX_CLIENTS}")
    if not 0 < given.requests <= MAX_REQUESTS or not 0 < given.seconds <= MAX_SECONDS:
        parser.error(f"expected at most {MAX_REQUESTS:,} requests and {MAX_SECONDS} seconds")
    return given


def main(arguments: list[str]) -> int:
    given = parse(arguments)
    lines = [line for line in given.lines.read_text(encoding="utf-8").splitlines() if line.strip()]
    if not lines:
        print(f"error: {given.lines}: there are no lines", file=sys.stderr)
        return 2
    address = urlsplit(given.url)
    server = Server(str(address.hostname), address.port or 80, given.api, given.source, given.target)
    messages = [server.message([line]) for line in lines]
    Client(server).ask(messages[0])  # the first request of a process is slow
    failed = 0
    print(HEADING)
    for clients in given.clients:
        results = measure(server, messages, clients, given.requests, given.seconds)
        print(results.row(clients), flush=True)
        failed += results.failed
    if given.document:
        document = [lines[number % len(lines)] for number in range(given.document)]
        alone, beside = (1000 * time for time in beside_document(server, min(lines, key=len), document, 30))
        print(f"the shortest line alone: {alone:.1f} ms; beside {given.document} lines: {beside:.1f} ms")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
