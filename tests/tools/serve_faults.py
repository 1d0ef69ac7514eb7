"""Lets clients of a server misbehave: they vanish, read slowly, cut requests short and send anything.

    python -m tests.tools.serve_faults runs/demo/transformer --vanish 1000 --cut 1000 --slow 100 --fuzz 10000

It starts `translate serve` on a free port of 127.0.0.1. Meanwhile witnesses, clients that do nothing wrong,
ask by three interfaces for texts of their own, and compare the answers with the library's translations. After
every fault the server's metrics must show an empty queue and batch. At last SIGTERM comes under load: every
request must be answered, refused, or not have been accepted. A row shows the memory of the server after a
fault; what went wrong stands below, and then the exit code is 1.
"""

import argparse
import http.client
import json
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import product
from operator import itemgetter
from pathlib import Path
from typing import Any

PROGRAM = "from translate.cli.main import main; main()"
SECONDS = 120.0  # for an answer; a machine with other work is slow
ROUNDS = 4  # of a fault, while the memory grows
WARM = 150  # requests of each witness before the first fault; until then the heap grows
# MiB by which the second half of a fault may raise the memory; what the largest request of the fuzz needed
# stays in the heap
GROWTH = {"vanish": 8.0, "cut": 8.0, "slow": 8.0, "fuzz": 128.0}
REFUSALS = {400, 401, 403, 404, 405, 408, 411, 413, 415, 429, 431, 456}
TEXT = "I love you ."
LONG = "the old woman sees the dog and the cat and the man and the boy . " * 8
WORDS = ("man", "woman", "boy", "girl", "dog", "cat"), ("sees", "loves", "knows", "finds"), ("man", "woman")
JSON, FORM, PARTS = "application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=b"
NASTY = ("", " ", "\0", "é", "\U0001f600", "\u202e", "</", "&#0;", "%s", "../../etc/passwd", "\r\nX: y")
VALUES: tuple[Any, ...] = (None, True, -3, 9, 1e308, 10**400, [], {}, ["a", 7], *NASTY, "x" * 9000)
HEADS = {
    "Content-Type": (JSON, FORM, PARTS, "multipart/form-data", "text/plain", "", "a" * 999),
    "Host": ("", "[", "a b", "\xff", "x" * 3000),
    "Authorization": ("Bearer ", "Bearer \xff", "DeepL-Auth-Key x", "Basic " + "a" * 9000),
    "Content-Length": ("-1", "+5", "9" * 30, "0x10", "1, 2"),
    "Expect": ("100-continue",),
}
RIGHT: dict[str, list[dict[str, Any]]] = {
    "/v1/translate": [
        {"text": LONG, **more}
        for more in ({"split_sentences": True}, {"alternatives_at": 0}, {"method": "norm"})
    ],
    "/v1/align": [{"source": TEXT, "target": TEXT}],
    "/translate": [{"q": TEXT, "source": "en", "target": "fr", "format": kind} for kind in ("text", "html")],
    "/detect": [{"q": TEXT}],
    "/v2/translate": [{"text": TEXT, "target_lang": "fr", "tag_handling": kind} for kind in ("xml", "html")],
    "/v2/glossaries": [{"name": "a", "source_lang": "en", "target_lang": "fr", "entries": "I\tje"}],
    "/v2/document/{id}": [{"document_key": "a"}],
}
FILES = {".txt": b"I love you .", ".html": b"<p>I <b>love</b>", ".md": b"# I *love*", ".docx": b"PK\3\4"}


def encoded(method: str, path: str, body: bytes = b"", **headers: str) -> bytes:
    """A request as it goes over the wire."""
    heads = {"Host": "a", "Content-Length": str(len(body)), **headers}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in heads.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1", "replace") + body


def posted(path: str, fields: Any) -> bytes:
    return encoded("POST", path, json.dumps(fields).encode(), **{"Content-Type": JSON})


@dataclass
class Server:
    """``translate serve`` in a process of its own, and all that it has done wrong."""

    port: int
    log: Path
    process: subprocess.Popen[bytes]
    wrong: list[str] = field(default_factory=list)

    def connect(self, *, buffer: int = 0) -> socket.socket:
        connection = socket.socket()
        if buffer:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        connection.settimeout(SECONDS)
        connection.connect(("127.0.0.1", self.port))
        return connection

    def ask(self, request: bytes, *, ends: bool = False) -> tuple[int, bytes]:
        """Status and body of an answer; ``ends`` sends nothing more.

        Raises:
            OSError: if there is none.
        """
        with self.connect() as connection:
            connection.sendall(request)
            if ends:
                connection.shutdown(socket.SHUT_WR)
            return receive(connection, request.split(b" ")[0].decode("latin-1"))

    def get(self, path: str) -> bytes:
        return self.ask(encoded("GET", path))[1]

    def metric(self, name: str) -> float:
        found = re.findall(rf"^{name}(?:{{.*}})? (\S+)$", self.get("/metrics").decode(), re.MULTILINE)
        return sum(map(float, found))

    def memory(self) -> float:
        """MiB."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@contextmanager
def started(run: str, *more: str) -> Iterator[Server]:
    with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port, path = free.getsockname()[1], Path(folder, "log")
        free.close()
        options = ["serve", run, "--port", str(port), "--threads", "2", "--max-queue", "2000000", *more]
        with path.open("wb") as log:
            environment = os.environ | {"MALLOC_ARENA_MAX": "1"}  # else each thread's heap grows for itself
            command = [sys.executable, "-c", PROGRAM, *options]
            process = subprocess.Popen(command, stderr=log, env=environment)
        server = Server(port, path, process)
        try:
            wait_until(lambda: answers(server) or process.poll() is not None)
            assert process.poll() is None, path.read_text()
            yield server
        finally:
            process.kill()
            process.wait()


def answers(server: Server) -> bool:
    with suppress(OSError):
        return bool(server.get("/ready"))
    return False


def receive(connection: socket.socket, method: str) -> tuple[int, bytes]:
    response = http.client.HTTPResponse(connection, method=method)
    try:
        response.begin()
        return response.status, response.read()
    except http.client.HTTPException as error:
        raise ConnectionError(f"{type(error).__name__}: {error}") from error


def wait_until(condition: Callable[[], bool]) -> bool:
    until = time.monotonic() + SECONDS
    while not (found := condition()) and time.monotonic() < until:
        time.sleep(0.05)
    return found


def vanish(server: Server, chance: random.Random) -> None:
    """A client that goes away at any moment: while it sends, while it waits, while it reads."""
    request = any_request(chance)
    connection = server.connect()
    connection.sendall(request[: chance.choice((len(request), chance.randrange(1, len(request))))])
    time.sleep(chance.random() * 0.05)
    if chance.random() < 0.5:  # with a reset instead of an end
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def cut(server: Server, chance: random.Random) -> None:
    """A body that ends early, though the connection stays until there is an answer or its end."""
    request = any_request(chance)
    with suppress(OSError):
        status, _ = server.ask(request[: -chance.randrange(1, 20)], ends=True)
        if status not in REFUSALS:
            server.wrong.append(f"half a request is answered with {status}: {request!r}")


def slow(server: Server, chance: random.Random) -> None:
    """A client that reads a byte now and then, and then leaves or reads to the end."""
    fields = {"text": LONG, "split_sentences": chance.random() < 0.5}
    with server.connect(buffer=4096) as connection:
        connection.sendall(posted("/v1/translate", fields).replace(b"Host", b"Connection: close\r\nHost", 1))
        read = b""
        for _ in range(5):
            time.sleep(0.1)
            read += connection.recv(1)
        if chance.random() < 0.5:
            while part := connection.recv(65536):
                read += part
            if not read.endswith(b"}"):
                server.wrong.append(f"a slow reader's answer ends with {read[-80:]!r}")


def fuzz(server: Server, chance: random.Random) -> None:
    """A request that is nearly right, to any endpoint that the server describes."""
    request, ends = nearly_right(server, chance)
    method, path = request.split(b" ", 2)[:2]
    try:
        status, body = server.ask(request, ends=ends)
    except OSError as error:
        if not ends:
            server.wrong.append(f"{request[:500]!r}: no answer ({error})")
        return
    waits = status == 503 and path.startswith(b"/v2/document/")
    if not (status < 300 or status in REFUSALS or waits):
        server.wrong.append(f"{request[:500]!r}: {status}")
    elif status in REFUSALS and body.startswith(b"{") and method != b"HEAD":
        json.loads(body)


def any_request(chance: random.Random) -> bytes:
    path = chance.choice([path for path in RIGHT if "{" not in path])
    return posted(path, chance.choice(RIGHT[path]))


def nearly_right(server: Server, chance: random.Random) -> tuple[bytes, bool]:
    """A request with one or two mistakes, and whether its head says another length than its body has."""
    described = json.loads(server.get("/spec"))["paths"]
    path = chance.choice(list(described))
    method = chance.choice(list(described[path]))
    fields = dict(chance.choice(RIGHT.get(path, [{"source": "en", "target": "fr", "target_lang": "fr"}])))
    for _ in range(chance.randrange(3)):
        name = chance.choice([*fields, "heads", "layer", "glossary_id", "api_key", *NASTY])
        fields[name] = chance.choice(VALUES)
    headers, body = {"Content-Type": JSON}, json.dumps(fields).encode()
    if "document" in path or "file" in path:
        suffix, content = chance.choice(list(FILES.items()))
        head = '--b\r\nContent-Disposition: form-data; name="{}"{}\r\n\r\n'
        body = "".join(f"{head.format(name, '')}{value}\r\n" for name, value in fields.items()).encode()
        body += head.format("file", f'; filename="a{suffix}"').encode() + content + b"\r\n--b--\r\n"
        headers = {"Content-Type": PARTS}
    for _ in range(chance.choice((0, 1, 2))):
        match chance.randrange(4):
            case 0:
                name = chance.choice(list(HEADS))
                headers[name] = chance.choice(HEADS[name])
            case 1:
                place, noise = chance.randrange(len(body) + 1), chance.randbytes(chance.randrange(4))
                body = body[:place] + noise + body[place + chance.randrange(9) :]
            case 2:
                path += chance.choice(("?q=%ff", "?a=" + "b" * 9000, "?" + "&" * 6000, "?text=a&q=b"))
            case _:
                method = chance.choice(("GET", "POST", "PUT", "HEAD", "OPTIONS", "BREW"))
    path = re.sub(r"\{\w+\}", lambda _: chance.choice(("a" * 32, "%00", "..%2f", "x" * 2000)), path)
    return encoded(method.upper(), path, body, **headers), bool({"Content-Length", "Expect"} & headers.keys())


@dataclass
class Witnesses:
    """Clients that do nothing wrong, in threads of their own, and the outcomes of their requests."""

    server: Server
    expected: dict[str, str]
    count: int
    outcomes: Counter[str] = field(default_factory=Counter)
    stop: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def asking(self, least: int) -> Iterator[None]:
        """Ask beside what happens in the block, and until each has had a few answers."""
        self.stop.clear()
        threads = [threading.Thread(target=self._ask, args=(number,)) for number in range(self.count)]
        for thread in threads:
            thread.start()
        yield
        wait_until(lambda: self.outcomes.total() >= least * self.count)
        self.stop.set()
        for thread in threads:
            thread.join(SECONDS)
            if thread.is_alive():
                self.server.wrong.append("a request has no answer")

    def _ask(self, number: int) -> None:
        lines = list(self.expected)
        while not self.stop.is_set():
            outcome = self._outcome(lines[number % len(lines)], number)
            self.outcomes[outcome] += 1
            if outcome in ("refused", "not accepted"):
                return
            number += self.count

    def _outcome(self, line: str, number: int) -> str:
        requests: list[tuple[bytes, Callable[[Any], Any]]] = [
            (posted("/translate", {"q": line, "source": "en", "target": "fr"}), itemgetter("translatedText")),
            (posted("/v1/translate", {"text": line}), first_text),
            (posted("/v2/translate", {"text": line, "target_lang": "fr"}), first_text),
        ]
        request, read = requests[number % 3]
        try:
            status, body = self.server.ask(request)
        except ConnectionError:
            return "not accepted"
        if status in (429, 503):
            return "refused"
        if status != 200 or read(json.loads(body)) != self.expected[line]:
            self.server.wrong.append(f"{line}: {status} {body[:200]!r}, not {self.expected[line]!r}")
            return "wrong"
        return "right"


def first_text(reply: Any) -> Any:
    return reply["translations"][0]["text"]


def left_behind(server: Server) -> None:
    """Metrics must show no work in queue or batch after the last request."""
    names = "translate_queued_pieces", "translate_batch_sentences", "translate_requests_running"
    if not wait_until(lambda: [server.metric(name) for name in names] == [0, 0, 1]):  # 1: the question itself
        server.wrong.append(f"left behind: {[server.metric(name) for name in names]}")


def run_fault(server: Server, witnesses: Witnesses, name: str, count: int) -> None:
    """Let a fault happen many times beside witnesses; print a row.

    A heap grows in steps, a leak all the time: where the memory grows, all of it happens again, at most
    ``ROUNDS`` times.
    """
    began = time.monotonic()

    def one(number: int) -> float:
        FAULTS[name](server, random.Random(number))
        return server.memory()

    for _ in range(ROUNDS):
        with witnesses.asking(least=5), ThreadPoolExecutor(20 if name == "slow" else 4) as pool:
            memory = [server.memory(), *pool.map(one, range(count))]
        left_behind(server)
        half = len(memory) // 2
        grown = max(memory[half:]) - max(memory[:half]) if half > 1 else 0.0
        if grown <= GROWTH[name]:
            break
    else:
        server.wrong.append(f"{name}: the memory grows by {grown:.0f} MiB in its second half")
    if set(witnesses.outcomes) != {"right"}:
        server.wrong.append(f"{name}: witnesses met {dict(witnesses.outcomes)}")
    right, seconds = witnesses.outcomes["right"], time.monotonic() - began
    print(f"{name:8} {count:8,} {right:8,} right beside {memory[-1]:7.0f} MiB {seconds:7.1f} s", flush=True)


def stop_under_load(server: Server, witnesses: Witnesses, sign: int = signal.SIGTERM, code: int = 0) -> None:
    """Send a signal while clients ask; they must have every answer that the server logs."""
    before = server.log.stat().st_size
    with witnesses.asking(least=3):
        wait_until(lambda: witnesses.outcomes.total() >= 3 * witnesses.count)
        server.process.send_signal(sign)
        if (ended := server.process.wait(SECONDS)) != code:
            server.wrong.append(f"signal {sign}: exit code {ended}")
    events = [json.loads(line) for line in server.log.read_bytes()[before:].splitlines()]
    logged = Counter(event["status"] for event in events if event["event"] == "request")
    outcomes = witnesses.outcomes
    known = Counter({200: outcomes["right"] + outcomes["wrong"], 503: outcomes["refused"]})
    if logged != +known:
        server.wrong.append(f"signal {sign}: the log has {dict(logged)}, the clients {dict(known)}")
    found = re.findall(r'.*(?:"event": "error"|Traceback).*', server.log.read_text())
    server.wrong += [line[:500] for line in found]


FAULTS = {"vanish": vanish, "cut": cut, "slow": slow, "fuzz": fuzz}


def translations(run: str) -> dict[str, str]:
    """What the library translates some lines to."""
    import translate
    from translate.runs.runtime import find_device, use_runtime

    use_runtime(find_device("cpu"))  # as the command does
    lines = [f"the {one} {verb} the {other} ." for one, verb, other in product(*WORDS)]
    found = translate.load(run, device="cpu").translate(lines)
    return {line: result.text for line, result in zip(lines, found, strict=True)}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run", help="run directory of English and French, as of the demo")
    for name, count in (("vanish", 1000), ("cut", 1000), ("slow", 100), ("fuzz", 10_000)):
        parser.add_argument(f"--{name}", type=int, default=count, help=FAULTS[name].__doc__)
    parser.add_argument("--clients", type=int, default=4, help="witnesses")
    given = parser.parse_args(arguments)
    expected = translations(given.run)
    with started(given.run) as server:
        with Witnesses(server, expected, given.clients).asking(least=WARM):
            pass
        for name in FAULTS:
            run_fault(server, Witnesses(server, expected, given.clients), name, getattr(given, name))
        stop_under_load(server, Witnesses(server, expected, given.clients))
    print(*(f"wrong: {fault}" for fault in server.wrong[:100]), f"{len(server.wrong)} findings", sep="\n")
    return 1 if server.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
