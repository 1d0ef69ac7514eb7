"""Lets clients of a server misbehave: they vanish, read slowly, cut requests short and send anything.

    python -m tests.tools.serve_faults runs/demo/transformer
    python -m tests.tools.serve_faults runs/demo/transformer --vanish 1000 --cut 1000 --slow 100 --fuzz 10000

It starts `translate serve` on a free port of 127.0.0.1. Meanwhile witnesses, clients that do nothing wrong,
ask by three interfaces for texts of their own, and compare the answers with the library's translations. After
every fault the server's metrics must show an empty queue and batch. At last SIGTERM comes under load: every
request must be answered, refused, or not have been accepted. A row shows the memory of the server during a
fault; faults that were found stand below, and then the exit code is 1.
"""

import argparse
import contextlib
import http.client
import json
import random
import signal
import socket
import struct
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from tests.tools.serve_requests import Mutations, Sent, posted, right_requests
from tests.tools.serve_witnesses import SECONDS, Server, Witnesses, ask, receive

WAVE = 200  # connections that are open at a time, within the usual number of open files
LEAST = 5  # answers of a witness beside a fault
GROWTH = 24.0  # MiB by which the second half of a fault may raise the memory
REFUSALS = {400, 401, 403, 404, 405, 408, 411, 413, 415, 429, 431, 456}
PEOPLE = ("man", "woman", "boy", "girl", "dog", "cat", "child", "friend")
VERBS = ("sees", "loves", "knows", "finds", "eats", "wants")
LONG = "the old woman sees the dog and the cat and the man and the boy . " * 8


class Faults:
    """A method for every fault; what the server does wrong is added to ``wrong``.

    Args:
        server: meets the faults.
    """

    def __init__(self, server: Server) -> None:
        self.server = server
        self._chance = random.Random(1)
        self.wrong: list[str] = []
        self.memory: list[float] = []  # MiB, at moments of the fault

    def vanish(self, count: int) -> None:
        """Clients that go away at any moment: while they send, while they wait, while they read."""
        for first in range(0, count, WAVE):
            connections = []
            for _ in range(min(WAVE, count - first)):
                request = self._any_request().encode()
                connection = self.server.connect()
                cut = self._chance.choice((len(request), self._chance.randrange(1, len(request))))
                connection.sendall(request[:cut])
                connections.append(connection)
            time.sleep(self._chance.random() * 0.2)
            for connection in connections:
                if self._chance.random() < 0.5:  # with a reset instead of an end
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.close()
            self.memory.append(self.server.memory())

    def cut(self, count: int) -> None:
        """Bodies that end early, though the connection stays until there is an answer or its end."""
        for number in range(count):
            request = self._any_request()
            whole = request.encode()
            with self.server.connect() as connection:
                connection.sendall(whole[: len(whole) - 1 - self._chance.randrange(len(request.body))])
                connection.shutdown(socket.SHUT_WR)
                with contextlib.suppress(OSError):
                    reply = receive(connection, "POST")
                    if reply.status not in REFUSALS:
                        self.wrong.append(f"half a request to {request.path} is answered with {reply.status}")
            if number % max(1, count // 20) == 0:
                self.memory.append(self.server.memory())

    def slow(self, count: int) -> None:
        """Clients that read a byte now and then; half of them leave, the others read to the end."""
        replies = []
        for number in range(min(count, WAVE)):
            more: dict[str, Any] = (
                {"stream": True, "beam_size": 1} if number % 2 else {"split_sentences": True}
            )
            connection = self.server.connect(buffer=4096)
            connection.sendall(posted("/v1/translate", {"text": LONG, **more}).encode())
            replies.append((connection, http.client.HTTPResponse(connection, method="POST")))
        for _, reply in replies:
            reply.begin()
        for _ in range(5):
            time.sleep(0.1)
            for _, reply in replies:
                reply.read(1)
            self.memory.append(self.server.memory())
        for number, (connection, reply) in enumerate(replies):
            if number % 4 < 2:
                try:
                    reply.read()
                except http.client.HTTPException as error:
                    self.wrong.append(f"a slow reader's answer is cut: {error!r}")
            connection.close()
        self.memory.append(self.server.memory())

    def fuzz(self, count: int, clients: int) -> None:
        """Requests that are nearly right, over every endpoint that the server describes."""
        paths = self.server.get("/spec")["paths"]
        endpoints = [(method.upper(), path) for path, methods in paths.items() for method in methods]
        languages = self.server.source, self.server.target
        mutations = Mutations(self._chance.randrange(10**9), endpoints, "I love you .", *languages)
        lock, left = threading.Lock(), iter(range(count))

        def run() -> None:
            while True:
                with lock:
                    number = next(left, None)
                    if number is None:
                        return
                    sent = mutations.next()
                    if number % max(1, count // 20) == 0:
                        self.memory.append(self.server.memory())
                if wrong := self._judge(sent):
                    with lock:
                        self.wrong.append(wrong)

        with ThreadPoolExecutor(clients) as pool:
            for running in [pool.submit(run) for _ in range(clients)]:
                running.result()

    def _judge(self, sent: Sent) -> str:
        """The fault in the answer to a request, or nothing."""
        shown = f"{sent.method} {sent.path[:100]} {sent.headers} {sent.body[:300]!r}"
        try:
            reply = ask(self.server, sent)
        except OSError as error:
            promised = {"Content-Length", "Expect"} & sent.headers.keys()  # more than the body has
            return "" if promised else f"{shown}: no answer ({error})"
        waits = reply.status == 503 and sent.path.startswith("/v2/document/")
        if not (reply.status < 300 or reply.status in REFUSALS or waits):
            return f"{shown}: {reply.status}"
        if reply.kind == "application/json" and sent.method != "HEAD":
            try:
                json.loads(reply.body)
            except ValueError:
                return f"{shown}: {reply.status} with a body that is no JSON"
        return ""

    def _any_request(self) -> Sent:
        """A right request of one of the interfaces."""
        right = right_requests(LONG, self.server.source, self.server.target)
        path = self._chance.choice([path for path in right if "{" not in path])
        fields, kinds = self._chance.choice(right[path])
        return posted(path, fields, self._chance.choice(kinds))


def left_behind(server: Server) -> list[str]:
    """Metrics that show work in queue or batch after the last request."""
    names = "translate_queued_pieces", "translate_batch_sentences", "translate_requests_running"
    until = time.monotonic() + SECONDS
    while True:
        values = {name: server.metric(name) for name in names}
        values["translate_requests_running"] -= 1  # the question itself
        if not any(values.values()):
            return []
        if time.monotonic() > until:
            return [f"{name} is {value:g} after the last request" for name, value in values.items() if value]
        time.sleep(0.1)


def meet(server: Server, witnesses: Witnesses, clients: int, fault: Callable[[], None]) -> None:
    """Let a fault happen beside witnesses."""
    witnesses.start(clients)
    fault()
    until = time.monotonic() + SECONDS
    while sum(witnesses.counts.values()) < LEAST * clients and time.monotonic() < until:
        time.sleep(0.01)
    witnesses.stop()
    kinds = witnesses.counts.keys() - {"right"}
    witnesses.wrong += [f"{witnesses.counts[kind]} witnesses' requests: {kind}" for kind in kinds]
    witnesses.wrong += left_behind(server)


def stop_under_load(server: Server, witnesses: Witnesses, clients: int) -> None:
    """Send SIGTERM while clients ask; they must have every answer that the server logs."""
    before = len(server.log.read_bytes())
    witnesses.start(clients)
    until = time.monotonic() + SECONDS
    while sum(witnesses.counts.values()) < 3 * clients and time.monotonic() < until:
        time.sleep(0.01)
    server.process.send_signal(signal.SIGTERM)
    code = server.process.wait(SECONDS)
    witnesses.stop()
    events = [json.loads(line) for line in server.log.read_bytes()[before:].splitlines()]
    logged = Counter(event["status"] for event in events if event["event"] == "request")
    received = {200: witnesses.counts["right"] + witnesses.counts["wrong"], 503: witnesses.counts["refused"]}
    for status in logged.keys() | received.keys():
        if logged[status] != received.get(status, 0):
            known = received.get(status, 0)
            witnesses.wrong.append(f"SIGTERM: {logged[status]} ended with {status}, {known} clients know it")
    if code:
        witnesses.wrong.append(f"SIGTERM: exit code {code}")


def judge_memory(name: str, memory: list[float]) -> list[str]:
    """The fault that the second half of a fault raises the memory, if it does."""
    half = len(memory) // 2
    if half < 2:
        return []
    grown = max(memory[half:]) - max(memory[:half])
    return [f"{name}: the memory grows by {grown:.0f} MiB in its second half"] if grown > GROWTH else []


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run", help="run directory of English and French, as of the demo")
    parser.add_argument("--vanish", type=int, default=1000, help="clients that go away in mid-request")
    parser.add_argument("--cut", type=int, default=1000, help="bodies that end early")
    parser.add_argument("--slow", type=int, default=100, help=f"slow readers, up to {WAVE}")
    parser.add_argument("--fuzz", type=int, default=10_000, help="requests that are nearly right")
    parser.add_argument("--clients", type=int, default=4, help="witnesses, and clients that send requests")
    return parser.parse_args(arguments)


def run_faults(server: Server, expected: dict[str, str], given: argparse.Namespace) -> list[str]:
    """Let all faults happen, one after another; returns what the server did wrong."""
    print("fault     requests  right answers beside  MiB before  at half  after  seconds")
    found: list[str] = []
    for name in ("vanish", "cut", "slow", "fuzz"):
        count, witnesses, faults = getattr(given, name), Witnesses(server, expected), Faults(server)
        before, began = server.memory(), time.monotonic()
        sizes = (count, given.clients) if name == "fuzz" else (count,)
        meet(server, witnesses, given.clients, partial(getattr(faults, name), *sizes))
        half = max(faults.memory[: len(faults.memory) // 2], default=before)
        print(
            f"{name:8}  {count:8,}  {witnesses.counts['right']:20,}  {before:10.0f}  {half:7.0f}  "
            f"{server.memory():5.0f}  {time.monotonic() - began:7.1f}",
            flush=True,
        )
        found += [*faults.wrong, *witnesses.wrong, *judge_memory(name, faults.memory)]
    witnesses = Witnesses(server, expected)
    stop_under_load(server, witnesses, given.clients)
    counts = witnesses.counts
    print(f"SIGTERM   {sum(counts.values()):8,}  {counts['right']:20,}; refused {counts['refused']}")
    found += witnesses.wrong
    log = server.log.read_text()
    found += [line[:500] for line in log.splitlines() if '"event": "error"' in line or "Traceback" in line]
    return found


def main(arguments: list[str]) -> int:
    given = parse(arguments)
    import translate
    from translate.runs.runtime import find_device, use_runtime

    use_runtime(find_device("cpu"))  # as the command does
    lines = [f"the {one} {verb} the {other} ." for one, verb, other in product(PEOPLE, VERBS, PEOPLE)]
    translations = translate.load(given.run, device="cpu").translate(lines)
    expected = {line: found.text for line, found in zip(lines, translations, strict=True)}
    print(f"{len(lines)} texts with {len(set(expected.values()))} translations")
    with tempfile.TemporaryDirectory() as folder:
        server = Server.start(given.run, Path(folder))
        try:
            found = run_faults(server, expected, given)
        finally:
            server.process.kill()
            server.process.wait()
    for fault in found[:100]:
        print(f"wrong: {fault}")
    print(f"{len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
