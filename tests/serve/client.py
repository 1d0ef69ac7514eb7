"""A client of the standard library, and a server in a thread of its own."""

import http.client
import io
import json
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import uvicorn

from translate.search.running import RunningBatch
from translate.serve.catalogue import Catalogue
from translate.serve.limits import ServiceLimits
from translate.serve.monitoring import Log
from translate.serve.service import Service
from translate.serve.web.application import build_application
from translate.serve.web.keys import Keys
from translate.serve.web.server import configured, listen


@dataclass
class Reply:
    """An answer over HTTP."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Client:
    """Asks a server.

    Attributes:
        port: of 127.0.0.1.
        service: the server's own state.
        server: itself.
        log: what it has written.
    """

    port: int
    service: Service
    server: uvicorn.Server
    log: io.StringIO

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Reply:
        """One request; a body that is no bytes is sent as JSON."""
        given = dict(headers or {})
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            given.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, given)
            answer = connection.getresponse()
            return Reply(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def post(self, path: str, **fields: Any) -> Reply:
        return self.ask("POST", path, fields)

    def raw(self) -> socket.socket:
        """A connection without any protocol."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def metric(self, name: str, **labels: str) -> float:
        """A value of ``/metrics``."""
        value = self.service.metrics.registry.get_sample_value(name, labels)
        return 0.0 if value is None else value


class Gate:
    """Holds every batch before its next step, until it is opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.open, self.entered = threading.Event(), threading.Event()
        step = RunningBatch.step

        def held(batch: RunningBatch) -> object:
            self.entered.set()
            assert self.open.wait(60)
            return step(batch)

        monkeypatch.setattr(RunningBatch, "step", held)


def eventually(condition: Callable[[], bool], what: str, seconds: float = 60.0) -> None:
    """Wait until a condition holds."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, f"{what}: not within {seconds} seconds"
        time.sleep(0.01)


def running(
    models: Catalogue, limits: ServiceLimits, keys: Keys, drain: float
) -> tuple[Client, Callable[[], None]]:
    """A server that answers, and a function that ends it as SIGTERM does."""
    folder, written = TemporaryDirectory(prefix="translate-test-"), io.StringIO()
    log = Log(written)
    service = Service(models, limits, keys, log, Path(folder.name))
    log.relay("uvicorn.error", "asyncio")
    server = uvicorn.Server(configured(build_application(service), drain))  # type: ignore[arg-type]
    listener = listen("127.0.0.1", 0)
    port = listener.getsockname()[1]
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    eventually(lambda: server.started, "the server")

    def end() -> None:
        server.should_exit = True
        thread.join(60)
        assert not thread.is_alive()
        folder.cleanup()

    return Client(port, service, server, written), end
