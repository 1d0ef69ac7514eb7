"""Connections: how long they may be silent, and how much they may leave unread."""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 15  # in which the head of the first request must arrive
STUCK_SECONDS = 60  # for which a reader may take nothing of its answer
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
        """What waits."""
        return sum(each.get_write_buffer_size() for each in self._waiting)

    def add(self, transport: asyncio.Transport) -> None:
        """A connection is not read as quickly as it is answered."""
        self._waiting[transport] = None
        surplus = self.bytes - self._most
        for oldest in [*self._waiting][:-1]:
            if surplus <= 0:
                break
            surplus -= oldest.get_write_buffer_size()
            self.remove(oldest)
            oldest.abort()

    def remove(self, transport: asyncio.Transport) -> None:
        """It is, or it has ended."""
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
        """It has caught up."""
        super().resume_writing()
        self._catch_up()

    def connection_lost(self, exc: Exception | None) -> None:
        """It has gone."""
        super().connection_lost(exc)
        self._catch_up()

    def _catch_up(self) -> None:
        self._unread.remove(self.transport)
        if self._stuck is not None:
            self._stuck.cancel()

    def _check_head(self) -> None:
        if self.cycle is None and not self.transport.is_closing():
            self.transport.abort()
