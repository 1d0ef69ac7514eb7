"""One path of an API: reads a request, answers it, and notices if the client goes away meanwhile."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from translate.config.names import shorten
from translate.serve.service import Service
from translate.serve.web.bodies import ClientGoneError, Fields, read_body, read_fields
from translate.serve.web.refusals import RefusalError

GONE = 499  # the status in logs and metrics of a request whose client has gone away


class Answer(Protocol):
    """What sends itself to the client: a response of Starlette, or a stream."""

    status_code: int

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...


@dataclass
class Asked:
    """A request whose body has been read.

    Attributes:
        service: that answers it.
        request: its head.
        body: bytes.
        noted: what its line in the log says of it.
    """

    service: Service
    request: Request
    body: bytes
    noted: dict[str, Any] = field(default_factory=dict)
    _fields: Fields | None = None

    async def fields(self) -> Fields:
        """What it gives by names."""
        if self._fields is None:
            self._fields = await read_fields(self.request, self.body)
        return self._fields

    def header(self, name: str) -> str:
        """A header, or an empty text."""
        return self.request.headers.get(name, "")


Handler = Callable[[Asked], Awaitable[Answer]]


class Form(Protocol):
    """What differs between APIs: where a key stands, and how a request is refused."""

    async def key(self, asked: Asked) -> str | None:
        """The key of a request."""

    def refuse(self, refusal: RefusalError) -> Response:
        """The answer to a request that is refused."""


@dataclass
class Endpoint:
    """An ASGI application for one path.

    Attributes:
        service: that answers.
        name: the pattern of the path, for logs and metrics.
        form: of its API.
        handlers: for each method.
        open: whether it needs neither a key nor models.
        files: whether the body may be a document.
        keyless: whether it needs no key: it says whether others do, or the path itself is a secret.
    """

    service: Service
    name: str
    form: Form
    handlers: Mapping[str, Handler]
    open: bool = False
    files: bool = False
    keyless: bool = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, metrics = time.monotonic(), self.service.metrics
        sent = _Sent(send)
        noted: dict[str, Any] = {}
        metrics.running.inc()
        self.service.running += 1
        try:
            await self._answer(scope, receive, sent, noted)
        except ClientGoneError:
            sent.status = GONE
        finally:
            metrics.running.dec()
            self.service.running -= 1
            seconds, status = time.monotonic() - began, sent.status
            if not self.open:
                metrics.answered(self.name, status, seconds)
                milliseconds = round(1000 * seconds, 1)
                self.service.log.write(
                    "request", endpoint=self.name, status=status, milliseconds=milliseconds, **noted
                )

    async def _answer(self, scope: Scope, receive: Receive, send: "_Sent", noted: dict[str, Any]) -> None:
        try:
            asked = await self._read(scope, receive)
            asked.noted = noted
            needs_key = not (self.open or self.keyless)
            if needs_key and not self.service.keys.accept(await self.form.key(asked)):
                raise RefusalError(403, "the key is missing or wrong; give a key of this server")
            handler = self.handlers["GET" if asked.request.method == "HEAD" else asked.request.method]
            await _unless_gone(receive, self._run(handler, asked, scope, receive, send))
            return
        except RefusalError as error:
            refusal = error
        except ClientGoneError:
            raise
        except Exception as error:
            self.service.log.write(
                "error", endpoint=self.name, error=shorten(f"{type(error).__name__}: {error}")
            )
            refusal = RefusalError(500, "the server has failed; its log says more")
        if send.status:  # a part has been sent: only the end of the connection tells the client
            raise refusal
        noted["refused"] = refusal.code
        await self.form.refuse(refusal)(scope, receive, send)

    async def _run(
        self, handler: Handler, asked: Asked, scope: Scope, receive: Receive, send: "_Sent"
    ) -> None:
        answer = await handler(asked)
        await answer(scope, receive, send)

    async def _read(self, scope: Scope, receive: Receive) -> Asked:
        """The request; refused early if it cannot be answered."""
        request, service = Request(scope), self.service
        method = "GET" if request.method == "HEAD" else request.method
        if method not in self.handlers:
            allowed = ", ".join(self.handlers)
            raise RefusalError(
                405,
                f"{shorten(request.method, 20)} is not allowed here; use {allowed}",
                headers={"Allow": allowed},
            )
        if not self.open:
            service.check_ready()
            if service.running > service.limits.requests:
                raise RefusalError(
                    429, f"{service.limits.requests:,} requests are being answered; try again", retry_after=1
                )
        most = service.limits.file if self.files else service.limits.body
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        return Asked(service, request, await read_body(receive, headers, most, service.limits))


@dataclass
class ByVersion:
    """Two APIs at one path: requests with an ``api-version`` in their query are for the first.

    Attributes:
        versioned, other: their applications.
    """

    versioned: Endpoint
    other: Endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        chosen = self.versioned if b"api-version=" in scope["query_string"] else self.other
        await chosen(scope, receive, send)


class _Sent:
    """Sends messages, and remembers the status."""

    def __init__(self, send: Send) -> None:
        self.status = 0
        self._send = send

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        await self._send(message)


async def _unless_gone(receive: Receive, work: Awaitable[None]) -> None:
    """Do the work to its end, or until the client goes away.

    Raises:
        ClientGoneError: if it does.
    """
    working, gone = asyncio.current_task(), False
    assert working is not None

    async def watch() -> None:
        nonlocal gone
        while (await receive())["type"] != "http.disconnect":
            pass
        gone = True
        working.cancel()

    watching = asyncio.ensure_future(watch())
    try:
        await work
    except asyncio.CancelledError:
        if not gone:
            raise
        working.uncancel()
        raise ClientGoneError from None
    finally:
        watching.cancel()
