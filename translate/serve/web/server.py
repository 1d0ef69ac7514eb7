"""The server itself: uvicorn's settings, its connections, and its workers."""

import asyncio
import logging
import signal
import socket
from functools import partial
from types import FrameType
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.supervisors import Multiprocess

from translate.errors import UserError
from translate.serve.monitoring import Log, Relay

IDLE_SECONDS = 30  # between two requests of a connection
HEAD_SECONDS = 15  # in which the head of the first request must arrive
STUCK_SECONDS = 60  # for which a reader may take nothing of its answer
HANGING_SECONDS = 60  # after which a worker that does not answer uvicorn is replaced
MAX_HEAD = 32 << 10  # bytes of a request's head
MAX_CONNECTIONS = 4_000
UNCOUNTED = 16 << 10  # bytes of an answer that may wait on any connection


class Unread:
    """The answers that wait to be read, on all connections, and a bound on their memory.

    Beyond it, the connections that have waited longest are cut: a reader that is merely slow has had the most
    time. The newest one stays, so that an answer larger than the bound can be read.

    Args:
        most: bytes that may wait in all.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: dict[asyncio.Transport, None] = {}  # the oldest first

    @property
    def bytes(self) -> int:
        """The bytes of all answers that wait."""
        return sum(transport.get_write_buffer_size() for transport in self._waiting)

    def add(self, transport: asyncio.Transport) -> None:
        """Note a connection that is not read as quickly as it is answered."""
        self._waiting[transport] = None
        surplus = self.bytes - self._most
        for oldest in [*self._waiting][:-1]:
            if surplus <= 0:
                break
            surplus -= oldest.get_write_buffer_size()
            self.remove(oldest)
            oldest.abort()

    def remove(self, transport: asyncio.Transport) -> None:
        """Forget a connection that is read again, or has ended."""
        self._waiting.pop(transport, None)


class Connection(H11Protocol):
    """A connection that ends if no request comes on it, or if its answer is not read.

    Args:
        unread: the answers that wait on all connections.
        given, named: of uvicorn.
    """

    def __init__(self, unread: Unread, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._unread = unread
        self._stuck: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has connected."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=UNCOUNTED)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()
            return
        self.loop.call_later(HEAD_SECONDS, self._check_head)

    def pause_writing(self) -> None:
        """The client reads more slowly than it is answered."""
        super().pause_writing()
        self._stuck = self.loop.call_later(STUCK_SECONDS, self.transport.abort)
        self._unread.add(self.transport)

    def resume_writing(self) -> None:
        """The client has caught up."""
        super().resume_writing()
        self._catch_up()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
        super().connection_lost(exc)
        self._catch_up()

    def _catch_up(self) -> None:
        self._unread.remove(self.transport)
        if self._stuck is not None:
            self._stuck.cancel()

    def _check_head(self) -> None:
        if self.cycle is None and not self.transport.is_closing():
            self.transport.abort()


def configured(application: ASGIApp | str, unread: Unread, drain: int, workers: int = 1) -> uvicorn.Config:
    """The settings of uvicorn.

    Args:
        application: that answers, or the place of a function that builds it.
        unread: the answers that wait on all connections of a process.
        drain: seconds for the requests that are being answered when a signal comes.
        workers: processes.
    """
    return uvicorn.Config(
        application,
        factory=isinstance(application, str),
        workers=workers,
        http=partial(Connection, unread),  # type: ignore[arg-type]
        ws="none",
        lifespan="on",
        loop="asyncio",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=MAX_HEAD,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=drain,
        timeout_worker_healthcheck=HANGING_SECONDS,
    )


def run_server(config: uvicorn.Config, listener: socket.socket) -> None:
    """Serve on a socket until a signal comes and the requests in progress are answered.

    Raises:
        KeyboardInterrupt: if it was interrupted.
    """

    def end(sign: int, frame: FrameType | None) -> None:
        """uvicorn raises the signal again when it has drained; the process then ends with 0."""

    signal.signal(signal.SIGTERM, end)
    uvicorn.Server(config).run([listener])


class Workers(Multiprocess):
    """uvicorn's supervisor, which ends if a worker ends before all of them answer."""

    def __init__(self, config: uvicorn.Config, listener: socket.socket) -> None:
        super().__init__(config, [listener])
        self.interrupted = self.failed = self._have_answered = False

    def keep_subprocess_alive(self) -> None:
        """Replace workers that have ended, once all have answered."""
        if self._have_answered:
            super().keep_subprocess_alive()
        elif any(process.exitcode is not None for process in self.processes):
            self.failed = True
            self.should_exit.set()
        else:
            self._have_answered = all(process.is_ready() for process in self.processes)

    def handle_int(self) -> None:
        """Remember that it was interrupted."""
        self.interrupted = True
        super().handle_int()


def run_workers(config: uvicorn.Config, listener: socket.socket) -> None:
    """Serve on a socket with several processes until a signal comes and all of them have drained.

    Raises:
        UserError: if a worker ends before it answers.
        KeyboardInterrupt: if it was interrupted.
    """
    supervisor = Workers(config, listener)
    supervisor.run()
    if supervisor.failed and not supervisor.interrupted:
        raise UserError(
            f"a worker has ended before it answered; is there memory for --workers {config.workers}?"
        )
    if supervisor.interrupted:
        raise KeyboardInterrupt


def relay_logs(log: Log) -> None:
    """Write what uvicorn and asyncio log into our own log."""
    for name in ("uvicorn.error", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [Relay(log)], False


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens at an address.

    Raises:
        UserError: if the address is not free, or none of this machine.
    """
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        found = socket.socket(family, kind, protocol)
    except OSError as error:
        raise UserError(f"--host {host}: no address of this machine ({error.strerror})") from error
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(place)
        found.listen(2048)
    except OSError as error:
        found.close()
        raise UserError(
            f"--host {host} --port {port}: cannot be used ({error.strerror}); give another --port, or 0 for "
            "a free one"
        ) from error
    return found
