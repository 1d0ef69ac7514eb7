"""The server itself: connections, signals, loading and draining."""

import asyncio
import logging
import signal
import socket
import time
from collections.abc import Callable
from functools import partial
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from translate.errors import UserError
from translate.serve.catalogue import Catalogue
from translate.serve.service import DRAINING, READY, Service
from translate.serve.web.connections import Connection, Unread
from translate.serve.web.logs import Log, Relay

IDLE_SECONDS = 30  # between two requests of a connection
MAX_HEAD = 32 << 10  # bytes of a request's head
LAST_SECONDS = 2  # after the drain, for the last refusals to leave


class Server(uvicorn.Server):
    """Serves an application: loads the models, then answers until a signal, then drains.

    Args:
        service: whose state changes.
        application: that answers.
        load: reads the models, in a thread of its own.
        drain: seconds for the requests that are being answered when a signal comes.
    """

    def __init__(
        self, service: Service, application: ASGIApp, load: Callable[[], Catalogue], drain: float
    ) -> None:
        self.unread = Unread(service.limits.unread)
        config = uvicorn.Config(
            application,
            http=partial(Connection, self.unread),  # type: ignore[arg-type]
            ws="none",
            lifespan="off",
            loop="asyncio",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            h11_max_incomplete_event_size=MAX_HEAD,
            timeout_keep_alive=IDLE_SECONDS,
            timeout_graceful_shutdown=LAST_SECONDS,
        )
        super().__init__(config)
        self.interrupted = False
        self.failure: UserError | None = None
        self.service, self._load, self._drain = service, load, drain
        self._ending: float | None = None  # when the drain began

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Drain at the first signal; stop at once at the second."""
        if self._ending is not None:
            self.should_exit = self.force_exit = True
            return
        self._ending = time.monotonic()
        self.interrupted = sig == signal.SIGINT
        self.service.state = DRAINING

    async def main_loop(self) -> None:
        """Load the models, answer, and drain when a signal has come."""
        loading = asyncio.create_task(self._begin())
        await super().main_loop()
        loading.cancel()
        self.service.state = DRAINING
        self.service.engine.stop()  # what the drain has not ended is refused
        until = time.monotonic() + LAST_SECONDS
        while self.service.running and time.monotonic() < until:
            await asyncio.sleep(0.01)

    async def on_tick(self, counter: int) -> bool:
        """Whether to end."""
        if self._ending is not None:
            waited = time.monotonic() - self._ending
            if not self.service.running or waited > self._drain:
                return True
        return await super().on_tick(counter)

    async def _begin(self) -> None:
        try:
            catalogue = await asyncio.to_thread(self._load)
        except UserError as error:
            self.failure = error
            self.should_exit = True
            return
        except Exception:
            self.should_exit = True
            raise
        self.service.catalogue = catalogue
        if self._ending is None:
            self.service.state = READY
        self.service.log.write(self.service.state, models=[each.name for each in catalogue.models])


def run_server(server: Server, listener: socket.socket, log: Log) -> None:
    """Run a server on a socket until a signal ends it.

    Raises:
        UserError: if a model cannot be loaded.
        KeyboardInterrupt: if it was interrupted.
    """
    for name in ("uvicorn.error", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [Relay(log)], False
    try:
        server.run([listener])
    finally:
        server.service.engine.close()
    if server.failure is not None:
        raise server.failure
    if server.interrupted:
        raise KeyboardInterrupt


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
