"""The server itself: uvicorn's settings, its connections, and its workers."""

import asyncio
import signal
import socket

import uvicorn
from starlette.types import ASGIApp
from uvicorn.main import STARTUP_FAILURE
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.supervisors import Multiprocess

from translate.errors import UserError

IDLE_SECONDS = 30  # between two requests of a connection
HEAD_SECONDS = 15  # in which the head of a request must arrive
STUCK_SECONDS = 60  # for which a reader may take nothing of its answer
HANGING_SECONDS = 60  # after which a worker that does not answer uvicorn is replaced
MAX_HEAD = 32 << 10  # bytes of a request's head
MAX_CONNECTIONS = 4_000


class Connection(H11Protocol):
    """A connection that ends if no request comes on it, or if its answer is not read."""

    _stuck: asyncio.TimerHandle | None = None
    _head: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has connected."""
        super().connection_made(transport)
        # Else a body waits 40 ms for its head; asyncio sees to it only for sockets that name their protocol.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        """A part of a request has come."""
        super().data_received(data)
        self._expect_head()

    def pause_writing(self) -> None:
        """The client reads more slowly than it is answered."""
        super().pause_writing()
        self._stuck = self.loop.call_later(STUCK_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """The client has caught up."""
        super().resume_writing()
        self._forget_stuck()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
        super().connection_lost(exc)
        self._forget_stuck()
        self._forget_head()

    def _forget_stuck(self) -> None:
        if self._stuck is not None:
            self._stuck.cancel()

    def _forget_head(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _expect_head(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._forget_head()
        elif self._head is None:
            self._head = self.loop.call_later(HEAD_SECONDS, self.transport.abort)


def configured(application: ASGIApp | str, drain: int, workers: int = 1) -> uvicorn.Config:
    """The settings of uvicorn.

    Args:
        application: that answers, or the place of a function that builds it.
        drain: seconds for the requests that are being answered when a signal comes.
        workers: processes.
    """
    return uvicorn.Config(
        application,
        factory=isinstance(application, str),
        workers=workers,
        http=Connection,
        lifespan="on",
        loop="asyncio",
        log_config=None,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MAX_CONNECTIONS,
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
    # uvicorn raises the signal again when it has drained; the process then ends with 0.
    signal.signal(signal.SIGTERM, lambda *_: None)
    uvicorn.Server(config).run([listener])


class Workers(Multiprocess):
    """uvicorn's supervisor of workers, which remembers that it was interrupted."""

    interrupted = False

    def handle_int(self) -> None:
        """Remember that it was interrupted."""
        self.interrupted = True
        super().handle_int()


def run_workers(config: uvicorn.Config, listener: socket.socket) -> None:
    """Serve on a socket with several processes until a signal comes and all of them have drained.

    Raises:
        UserError: if a worker could not load its models.
        KeyboardInterrupt: if it was interrupted.
    """
    supervisor = Workers(config, [listener])
    supervisor.run()
    if supervisor.interrupted:
        raise KeyboardInterrupt
    if any(process.exitcode == STARTUP_FAILURE for process in supervisor.processes):
        raise UserError(f"a worker could not load its models; see above ({config.workers} workers)")


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens at an address.

    Raises:
        UserError: if the address is not free, or none of this machine.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        why = str(error.strerror).partition(" (while")[0]  # which repeats the address
        raise UserError(
            f"--host {host} --port {port}: cannot be used ({why}); give another --port, or 0 for a free one"
        ) from error
