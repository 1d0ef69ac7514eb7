"""One path of an API: reads a request, answers it, and notices if the client goes away meanwhile."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from translate.config.names import shorten
from translate.serve.service import Service
from translate.serve.web.requests import Fields, RefusalError, read_body, read_fields

GONE = 499  # the status in logs and metrics of a request whose client has gone away


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
        """The values of the body and the query, by their names."""
        if self._fields is None:
            self._fields = await read_fields(self.request, self.body)
        return self._fields

    def note(self, texts: Sequence[str], **more: object) -> None:
        """Say in the log how many texts it has, and their beginnings if texts are logged."""
        self.noted |= {"texts": len(texts), **self.service.log.shown(texts), **more}


Handler = Callable[[Asked], Awaitable[Response]]


class Form(Protocol):
    """The differences between APIs: where a key stands, and how a request is refused."""

    async def key(self, asked: Asked) -> str | None:
        """The key of a request."""

    def refuse(self, refusal: RefusalError) -> Response:
        """The answer to a request that is refused."""


@dataclass(frozen=True)
class Operation:
    """A method of a path, and what its description says.

    Attributes:
        method, path: where.
        handler: answers.
        summary: what it does, as a sentence.
        answer: what comes back.
        body: the schema of its body; the services whose interface it has describe theirs.
        open: whether it needs no key, and is neither counted nor logged.
        keyless: whether it needs no key: it says whether others do, or the path itself is a secret.
        files: whether the body may be a document.
    """

    method: str
    path: str
    handler: Handler
    summary: str
    answer: str
    body: dict[str, Any] | None = None
    open: bool = False
    keyless: bool = False
    files: bool = False


@dataclass
class Endpoint:
    """An ASGI application for one path.

    Attributes:
        service: that answers.
        name: the pattern of the path, for logs and metrics.
        form: of its API.
        operations: by their methods.
    """

    service: Service
    name: str
    form: Form
    operations: Mapping[str, Operation]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, service = time.monotonic(), self.service
        sent, noted = _Sent(send), dict[str, Any]()
        is_open = any(operation.open for operation in self.operations.values())
        service.metrics.running.inc()
        service.running += 1
        try:
            await self._answer(scope, receive, sent, noted)
        except ClientDisconnect:
            sent.status = GONE
        finally:
            service.metrics.running.dec()
            service.running -= 1
            seconds = time.monotonic() - began
            if not is_open:
                service.metrics.answered(self.name, sent.status, seconds)
                more = {"status": sent.status, "milliseconds": round(1000 * seconds, 1), **noted}
                service.log.write("request", endpoint=self.name, **more)

    async def _answer(self, scope: Scope, receive: Receive, send: "_Sent", noted: dict[str, Any]) -> None:
        try:
            request = Request(scope, receive)
            operation = self._operation(request)
            asked = Asked(self.service, request, await self._body(request, operation), noted)
            needs_key = not (operation.open or operation.keyless)
            if needs_key and not self.service.keys.accept(await self.form.key(asked)):
                raise RefusalError(403, "the key is missing or wrong; give a key of this server")
            await _unless_gone(receive, self._run(operation, asked, scope, receive, send))
            return
        except RefusalError as error:
            refusal = error
        except ClientDisconnect:
            raise
        except asyncio.CancelledError:  # the server ends, and --drain seconds have passed
            refusal = RefusalError(503, "the server stops; try again later", retry_after=2)
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
        self, operation: Operation, asked: Asked, scope: Scope, receive: Receive, send: "_Sent"
    ) -> None:
        answer = await operation.handler(asked)
        await answer(scope, receive, send)

    def _operation(self, request: Request) -> Operation:
        """The operation of a method; refused early if it cannot be answered."""
        method = "GET" if request.method == "HEAD" else request.method
        operation, limits = self.operations.get(method), self.service.limits
        if operation is None:
            allowed = ", ".join(self.operations)
            raise RefusalError(
                405,
                f"{shorten(request.method, 20)} is not allowed here; use {allowed}",
                headers={"Allow": allowed},
            )
        if not operation.open and self.service.running > limits.requests:
            raise RefusalError(
                429, f"{limits.requests:,} requests are being answered; try again", retry_after=1
            )
        return operation

    async def _body(self, request: Request, operation: Operation) -> bytes:
        limits = self.service.limits
        return await read_body(request, limits.file if operation.files else limits.body, limits.seconds)


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
        ClientDisconnect: if it does.
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
        raise ClientDisconnect from None
    finally:
        watching.cancel()


def json_text(value: Any) -> str:
    """JSON as every API writes it."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A response in JSON."""
    return Response(json_text(value), status, headers, "application/json")
