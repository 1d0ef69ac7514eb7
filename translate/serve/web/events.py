"""Server-sent events."""

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, NamedTuple

from starlette.types import Receive, Scope, Send

from translate.serve.web.refusals import RefusalError

HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),  # a proxy would hold events back
]


class Event(NamedTuple):
    """One event: its name and its data for JSON."""

    name: str
    data: Any

    def encode(self) -> bytes:
        """The event on the wire; JSON holds no line feed."""
        return f"event: {self.name}\ndata: {to_json(self.data)}\n\n".encode()


class EventStream:
    """A response that sends events as they come; an error after the first is an event, too.

    Args:
        events: to send.
    """

    status_code = 200

    def __init__(self, events: AsyncGenerator[Event, None]) -> None:
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with aclosing(self._events) as events:  # a client that goes away ends them at once
            first = await anext(events, None)  # its refusal is an answer with its status
            await send({"type": "http.response.start", "status": self.status_code, "headers": HEADERS})
            try:
                if first is not None:
                    await _send(send, first)
                async for event in events:
                    await _send(send, event)
            except RefusalError as refusal:
                await _send(send, Event("error", {"code": refusal.code, "message": refusal.message}))
            await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _send(send: Send, event: Event) -> None:
    await send({"type": "http.response.body", "body": event.encode(), "more_body": True})


def to_json(value: Any) -> str:
    """JSON as every API writes it."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
