"""How many sentences a second a server translates, and how soon: 1, 8 and 64 clients at once.

    python scripts/load.py http://127.0.0.1:5000 --lines test.en --source en --target fr
    python scripts/load.py http://127.0.0.1:5000 --lines test.en --source en --target fr --document 500

Only servers on this machine are asked, for a bounded number of requests and seconds. The interface is
LibreTranslate's, so other servers that speak it can be measured, too; ``--api eole`` and ``--api own`` speak
Eole's and this project's own. Each client has a connection that it keeps, and asks for the next line when it
has an answer. ``--document N`` also measures one line's latency alone and beside a document of N lines.
"""

import argparse
import http.client
import json
import statistics
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

LOCAL = ("127.0.0.1", "::1", "localhost")
MAX_CLIENTS, MAX_REQUESTS, MAX_SECONDS = 256, 100_000, 600


@dataclass
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

    def request(self, texts: list[str]) -> tuple[str, dict[str, Any]]:
        """Path and body of a request."""
        if self.api == "eole":
            return "/infer", {"model": self.model, "inputs": texts}
        if self.api == "own":
            return "/v1/translate", {"text": texts, "alignments": False}
        return "/translate", {"q": texts if len(texts) > 1 else texts[0], **self.languages()}

    def languages(self) -> dict[str, str]:
        return {"source": self.source, "target": self.target}


@dataclass
class Results:
    """What the clients have seen."""

    seconds: list[float] = field(default_factory=list)
    refused: int = 0
    failed: int = 0


class Client:
    """A connection that is kept."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._connection = http.client.HTTPConnection(server.host, server.port, timeout=MAX_SECONDS)

    def ask(self, texts: list[str]) -> tuple[int, float]:
        """Status and seconds of one request."""
        path, body = self._server.request(texts)
        began = time.perf_counter()
        self._connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        answer = self._connection.getresponse()
        answer.read()
        return answer.status, time.perf_counter() - began


def measure(
    server: Server, lines: list[str], clients: int, requests: int, seconds: float
) -> tuple[Results, float]:
    """Let clients ask for the lines in turn; gives the results and the time that all took."""
    results, lock, end = Results(), threading.Lock(), time.perf_counter() + seconds
    numbers = iter(range(requests))

    def run() -> None:
        client = Client(server)
        while time.perf_counter() < end:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            try:
                status, taken = client.ask([lines[number % len(lines)]])
            except (OSError, http.client.HTTPException):
                with lock:
                    results.failed += 1
                return
            with lock:
                if status == 200:
                    results.seconds.append(taken)
                elif status in (429, 503):
                    results.refused += 1
                else:
                    results.failed += 1

    began = time.perf_counter()
    threads = [threading.Thread(target=run) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results, time.perf_counter() - began


def beside_document(server: Server, line: str, document: list[str], times: int) -> tuple[float, float]:
    """The median latency of a line alone, and while a document is translated."""
    client = Client(server)
    alone = [client.ask([line])[1] for _ in range(times)]
    beside: list[float] = []
    thread = threading.Thread(target=lambda: Client(server).ask(document))
    thread.start()
    time.sleep(0.2)  # until the document fills the batch
    while thread.is_alive() and len(beside) < times:
        beside.append(client.ask([line])[1])
    thread.join()
    return statistics.median(alone), statistics.median(beside) if beside else float("nan")


def quantile(values: list[float], share: float) -> float:
    """The value that a share of the others does not exceed."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else float("nan")


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("url", help="http://127.0.0.1:PORT")
    parser.add_argument("--lines", required=True, type=Path, help="a file of source sentences")
    parser.add_argument("--source", default="en")
    parser.add_argument("--target", default="fr")
    parser.add_argument("--api", choices=["libretranslate", "own", "eole"], default="libretranslate")
    parser.add_argument("--model", default="", help="for Eole")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--requests", type=int, default=500, help="for each number of clients")
    parser.add_argument("--seconds", type=float, default=60, help="at most, for each number of clients")
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
    address = urlsplit(given.url)
    server = Server(
        str(address.hostname), address.port or 80, given.api, given.source, given.target, given.model
    )
    lines = [line for line in given.lines.read_text(encoding="utf-8").splitlines() if line.strip()]
    if not lines:
        print(f"error: {given.lines}: there are no lines", file=sys.stderr)
        return 2
    Client(server).ask(lines[:1])  # the first request of a process is slow
    failed = 0
    print("clients  sentences/s  median ms  99th ms  refused  failed")
    for clients in given.clients:
        results, seconds = measure(server, lines, clients, given.requests, given.seconds)
        middle, worst = (1000 * quantile(results.seconds, share) for share in (0.5, 0.99))
        print(
            f"{clients:7}  {len(results.seconds) / seconds:11.1f}  {middle:9.1f}  {worst:7.1f}  "
            f"{results.refused:7}  {results.failed:6}",
            flush=True,
        )
        failed += results.failed
    if given.document:
        document = [lines[number % len(lines)] for number in range(given.document)]
        alone, beside = beside_document(server, min(lines, key=len), document, 30)
        print(
            f"the shortest line alone: {1000 * alone:.1f} ms; "
            f"beside {given.document} lines: {1000 * beside:.1f} ms"
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
