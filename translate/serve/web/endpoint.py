"""One path of an API: reads a request, answers it, and notices if the client goes away meanwhile."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from translate.config.names import shorten
from translate.serve.service import Service
from translate.serve.web.requests import RefusalError, read_body, read_fields, stopping

GONE = 499  # the status in logs and metrics of a request whose client has gone away


@dataclass
class Asked:
    """A request, with its body once that has been read.

    Attributes:
        service: that answers it.
        request: its head.
        body: bytes.
        noted: what its line in the log says of it.
    """

    service: Service
    request: Request
    body: bytes = b""
    noted: dict[str, Any] = field(default_factory=dict)
    _fields: dict[str, Any] | None = None

    async def fields(self) -> dict[str, Any]:
        """The values of the body and the query, by their names."""
        if self._fields is None:
            self._fields = await read_fields(self.request, self.body)
        return self._fields


@dataclass(frozen=True)
class Operation:
    """A method of a path; the documentation of its handler describes it.

    Attributes:
        method, path: where.
        handler: answers.
        body: the shape of its body.
        open: whether it needs no key, and is neither counted nor logged.
        keyless: whether it needs no key: it says whether others do, or the path itself is a secret.
        files: whether the body may be a document.
    """

    method: str
    path: str
    handler: Callable[[Asked], Awaitable[Response]]
    body: type[BaseModel] | None = None
    open: bool = False
    keyless: bool = False
    files: bool = False


@dataclass(frozen=True)
class Api:
    """An API, and how it differs from others.

    Attributes:
        name: for people.
        operations: all of them; those of one path stand side by side.
        refuse: gives the answer to a request that is refused.
        scheme: of the key in the header ``Authorization``.
        key_fields: fields of a request that may hold the key instead.
    """

    name: str
    operations: Sequence[Operation]
    refuse: Callable[[RefusalError], Response]
    scheme: str = "bearer"
    key_fields: Sequence[str] = ()

    async def keys(self, asked: Asked) -> list[str | None]:
        """The keys that a request gives."""
        scheme, _, key = asked.request.headers.get("authorization", "").partition(" ")
        found: list[str | None] = [key.strip() if scheme.lower() == self.scheme else None]
        fields = await asked.fields() if self.key_fields else {}
        return found + [fields[name] for name in self.key_fields if isinstance(fields.get(name), str)]


@dataclass
class Endpoint:
    """An ASGI application for one path.

    Attributes:
        service: that answers.
        name: the pattern of the path, for logs and metrics.
        api: that it belongs to.
        operations: by their methods.
    """

    service: Service
    name: str
    api: Api
    operations: Mapping[str, Operation]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, service = time.monotonic(), self.service
        noted: dict[str, Any] = {"status": 0}

        async def noting(message: Message) -> None:
            noted["status"] = message.get("status", noted["status"])
            await send(message)

        service.running += 1
        try:
            await self._answer(scope, receive, noting, noted)
        except ClientDisconnect:
            noted["status"] = GONE
        finally:
            service.running -= 1
            seconds = time.monotonic() - began
            if not any(operation.open for operation in self.operations.values()):
                service.metrics.requests.labels(self.name, str(noted["status"])).inc()
                service.metrics.latency.labels(self.name).observe(seconds)
                service.log.write(
                    "request", endpoint=self.name, milliseconds=round(1000 * seconds, 1), **noted
                )

    async def _answer(self, scope: Scope, receive: Receive, send: Send, noted: dict[str, Any]) -> None:
        try:
            request, limits = Request(scope, receive), self.service.limits
            operation = self._operation(request)
            most = limits.file if operation.files else limits.body
            asked = Asked(self.service, request, noted=noted)
            if not self.api.key_fields:
                await self._check_key(operation, asked)
            asked.body = await read_body(request, most, limits.seconds)
            if self.api.key_fields:
                await self._check_key(operation, asked)

            async def work() -> None:
                answer = await operation.handler(asked)
                await answer(scope, receive, send)

            await _unless_gone(receive, work())
            return
        except RefusalError as error:
            refusal = error
        except ClientDisconnect:
            raise
        except asyncio.CancelledError:  # the server ends, and --drain seconds have passed
            refusal = stopping()
        except Exception as error:
            self.service.log.write(
                "error", endpoint=self.name, error=shorten(f"{type(error).__name__}: {error}")
            )
            refusal = RefusalError(500, "the server has failed; its log says more")
        if noted["status"]:  # a part has been sent: only the end of the connection tells the client
            raise refusal
        noted["refused"] = refusal.code
        await self.api.refuse(refusal)(scope, receive, send)

    async def _check_key(self, operation: Operation, asked: Asked) -> None:
        is_free = operation.open or operation.keyless
        if not (is_free or any(map(self.service.keys.accept, await self.api.keys(asked)))):
            raise RefusalError(403, "the key is missing or wrong; give a key of this server")

    def _operation(self, request: Request) -> Operation:
        """The operation of a method; refused early if it cannot be answered."""
        method = "GET" if request.method == "HEAD" else request.method
        operation, limits = self.operations.get(method), self.service.limits
        if operation is None:
            allowed = ", ".join(self.operations)
            message = f"{shorten(request.method, 20)} is not allowed here; use {allowed}"
            raise RefusalError(405, message, {"Allow": allowed})
        if not operation.open and self.service.running > limits.requests:
            message = f"{limits.requests:,} requests are being answered; try again"
            raise RefusalError.for_now(429, message, 1)
        return operation


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


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A response in JSON."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Response(text, status, headers, "application/json")
