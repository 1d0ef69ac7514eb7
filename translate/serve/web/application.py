"""The ASGI application: every path of every API, and their description at ``/spec`` and ``/docs``."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import groupby
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from translate.serve.apis import deepl, libretranslate, own
from translate.serve.live_page import File, headers, live_files
from translate.serve.service import Service
from translate.serve.web.endpoint import Asked, Endpoint, Form, Operation, json_response
from translate.serve.web.requests import RefusalError
from translate.text.escape import for_html
from translate.version import __version__

STYLE = (
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;width:100%}td,th{border-bottom:1px solid #8888;padding:.3rem .6rem;"
    "text-align:start;vertical-align:top}code{font-size:.95em}:root{color-scheme:light dark;"
    "background:Canvas;color:CanvasText}"
)
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def build_application(service: Service) -> ASGIApp:
    """The application of a service."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(service.engine.close)

    # They are tried in this order: those that programs ask most come first.
    form = own.OwnForm()
    routes = [
        *_routes(service, form, own.OPERATIONS),
        *_routes(service, libretranslate.LibreForm(), libretranslate.OPERATIONS),
        *_routes(service, deepl.DeepLForm(), deepl.OPERATIONS),
        *_routes(service, form, OPERATIONS),
        *(
            route
            for path, file in live_files().items()
            for route in _routes(service, form, [_shown(path, file)])
        ),
    ]
    missing = {method: Operation(method, "", _missing, "", "") for method in ("GET", "POST", "PUT", "DELETE")}
    routes.append(Route("/{path:path}", Endpoint(service, "other", form, missing)))
    # No cookie is read, so any page may ask what any program may.
    anybody = Middleware(
        CORSMiddleware, allow_origins=["*"], allow_methods=["*"], allow_headers=["*"], max_age=600
    )
    return Starlette(routes=routes, middleware=[anybody], lifespan=lifespan)


def _routes(service: Service, form: Form, operations: Sequence[Operation]) -> list[Route]:
    """The routes; operations of one path stand side by side."""
    return [
        Route(path, Endpoint(service, path, form, {operation.method: operation for operation in same}))
        for path, same in groupby(operations, lambda operation: operation.path)
    ]


def _shown(path: str, file: File) -> Operation:
    """A file of the live page, which needs no key; what the page asks for does."""

    async def show(asked: Asked) -> Response:
        return Response(file.content, headers=headers(), media_type=file.media_type)

    return Operation("GET", path, show, "", "", open=True)


async def _health(asked: Asked) -> Response:
    return json_response({"status": "ok"})


async def _ready(asked: Asked) -> Response:
    return json_response({"status": "ready"})


async def _metrics(asked: Asked) -> Response:
    return Response(asked.service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


async def _missing(asked: Asked) -> Response:
    raise RefusalError(404, "there is no such path; /docs lists all of them")


async def _specification(asked: Asked) -> Response:
    """The description of every path in OpenAPI."""
    paths: dict[str, Any] = {}
    for api, operations in _apis().items():
        for operation in operations:
            described = _described(api, operation)
            paths.setdefault(operation.path, {})[operation.method.lower()] = described
    description = {
        "openapi": "3.1.0",
        "info": {"title": "translate", "version": __version__, "description": "Translations with links"},
        "paths": paths,
        "components": {"securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}}},
    }
    return json_response(description)


def _described(api: str, operation: Operation) -> dict[str, Any]:
    responses: dict[str, Any] = {"200": {"description": operation.answer}}
    if operation.method == "POST":
        responses |= {"400": {"description": "what is wrong"}, "413": {"description": "too large"}}
        responses |= {"429": {"description": "busy; Retry-After says for how long"}}
    found: dict[str, Any] = {"summary": operation.summary, "tags": [api], "responses": responses}
    found["operationId"] = re.sub(r"\W+", "_", f"{operation.method.lower()}{operation.path}")
    names = [part[1:-1] for part in operation.path.split("/") if part.startswith("{")]
    if names:
        string = {"in": "path", "required": True, "schema": {"type": "string"}}
        found["parameters"] = [{"name": name, **string} for name in names]
    if operation.body is not None:
        found["requestBody"] = {"content": {"application/json": {"schema": operation.body}}}
    return found


async def _page(asked: Asked) -> Response:
    """The same as a page."""
    policy = {"Content-Security-Policy": POLICY}
    return Response("".join(_parts()), media_type="text/html", headers=policy)


def _parts() -> Iterator[str]:
    yield f"<!doctype html><html lang=en><meta charset=utf-8><title>APIs</title><style>{STYLE}</style>"
    yield "<meta name=viewport content='width=device-width'><main><h1>APIs</h1>"
    yield "<p>As OpenAPI: <a href=spec>/spec</a>. The page to translate in: <a href='./'>/</a>.</p>"
    for api, operations in _apis().items():
        yield f"<h2>{for_html(api)}</h2>"
        for operation in operations:
            yield f"<h3><code>{operation.method} {for_html(operation.path)}</code></h3>"
            yield f"<p>{for_html(operation.summary)} Answer: {for_html(operation.answer)}.</p>"
            if operation.body is not None:
                yield from _table(operation.body)
    yield "</main>"


def _table(schema: dict[str, Any]) -> Iterator[str]:
    yield "<table><tr><th>field<th>type<th>default<th>meaning"
    for name, field in schema["properties"].items():
        default = "required" if name in schema.get("required", ()) else _default(field.get("default"))
        cells = _kind(field), default, field.get("description", "")
        yield f"<tr><td><code>{for_html(name)}</code>" + "".join(f"<td>{for_html(cell)}" for cell in cells)
    yield "</table>"


def _kind(field: dict[str, Any]) -> str:
    if "anyOf" in field:
        return " or ".join(_kind(kind) for kind in field["anyOf"] if kind.get("type") != "null")
    if "enum" in field:
        return ", ".join(map(str, field["enum"]))
    kind = str(field.get("type", ""))
    return f"array of {_kind(field['items'])}" if kind == "array" and "items" in field else kind


def _default(value: object) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _apis() -> Mapping[str, Sequence[Operation]]:
    """Every API by its name."""
    return {
        "Our own API": own.OPERATIONS,
        "LibreTranslate": libretranslate.OPERATIONS,
        "DeepL, version 2": deepl.OPERATIONS,
        "For those who run the server": OPERATIONS,
    }


OPERATIONS = (
    Operation("GET", "/health", _health, "Says that the process lives.", "status ok", open=True),
    Operation("GET", "/ready", _ready, "Says that requests are taken.", "status ready", open=True),
    Operation("GET", "/metrics", _metrics, "Counts and times for Prometheus.", "text", open=True),
    Operation("GET", "/spec", _specification, "This description.", "OpenAPI 3.1", open=True),
    Operation("GET", "/docs", _page, "This description as a page.", "HTML", open=True),
)
