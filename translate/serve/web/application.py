"""The ASGI application: every path of every API, and their description at ``/spec`` and ``/docs``."""

import asyncio
import html
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import groupby
from typing import Any

from prometheus_client import generate_latest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from translate.serve.apis.deepl import DEEPL
from translate.serve.apis.libretranslate import LIBRETRANSLATE
from translate.serve.apis.own import OWN, refuse
from translate.serve.live_page import HEADERS, File, live_files
from translate.serve.service import Service
from translate.serve.web.endpoint import Api, Asked, Endpoint, Operation, json_response
from translate.serve.web.requests import RefusalError
from translate.version import __version__


def build_application(service: Service) -> ASGIApp:
    """The application of a service."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(service.engine.close)

    page = Api("", [_shown(path, file) for path, file in live_files().items()], refuse)
    routes = [
        Route(path, Endpoint(service, path, api, {operation.method: operation for operation in same}))
        for api in (*APIS, page)  # tried in this order: those that programs ask most come first
        for path, same in groupby(api.operations, lambda operation: operation.path)
    ]
    missing = {method: Operation(method, "", _missing) for method in ("GET", "POST", "PUT", "DELETE")}
    routes.append(Route("/{path:path}", Endpoint(service, "other", page, missing)))
    # No cookie is read, so any page may ask what any program may.
    anybody = Middleware(CORSMiddleware, allow_origins=["*"], allow_methods=["*"], allow_headers=["*"])
    return Starlette(routes=routes, middleware=[anybody], lifespan=lifespan)


def _shown(path: str, file: File) -> Operation:
    """A file of the live page, which needs no key; what the page asks for does."""

    async def show(asked: Asked) -> Response:
        return Response(file.content, headers=HEADERS, media_type=file.media_type)

    return Operation("GET", path, show, open=True)


async def _ready(asked: Asked) -> Response:
    """Says that the models are loaded and requests are taken."""
    return json_response({"status": "ok"})


async def _metrics(asked: Asked) -> Response:
    """Counts and times for Prometheus."""
    text = generate_latest(asked.service.metrics.registry)
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


async def _missing(asked: Asked) -> Response:
    raise RefusalError(404, "there is no such path; /docs lists all of them")


async def _specification(asked: Asked) -> Response:
    """This description in OpenAPI 3.1."""
    paths: dict[str, Any] = {}
    for api in APIS:
        for operation in api.operations:
            described = _described(api, operation)
            paths.setdefault(operation.path, {})[operation.method.lower()] = described
    description = {
        "openapi": "3.1.0",
        "info": {"title": "translate", "version": __version__, "description": "Translations with links"},
        "paths": paths,
    }
    return json_response(description)


def _described(api: Api, operation: Operation) -> dict[str, Any]:
    responses = {"200": "the answer"}
    if operation.method == "POST":
        responses |= {"400": "what is wrong", "413": "too large", "429": "busy; see Retry-After"}
    names = [part[1:-1] for part in operation.path.split("/") if part.startswith("{")]
    found: dict[str, Any] = {
        "summary": (operation.handler.__doc__ or "").split("\n")[0],
        "tags": [api.name],
        "operationId": re.sub(r"\W+", "_", f"{operation.method.lower()}{operation.path}"),
        "parameters": [{"name": name, "in": "path", "required": True} for name in names],
        "responses": {status: {"description": text} for status, text in responses.items()},
    }
    if operation.body is not None:
        content = {"application/json": {"schema": operation.body.model_json_schema()}}
        found["requestBody"] = {"content": content}
    return found


async def _page(asked: Asked) -> Response:
    """This description as a page."""
    return Response("".join(_parts()), headers=HEADERS, media_type="text/html")


def _parts() -> Iterator[str]:
    yield "<!doctype html><html lang=en><meta charset=utf-8><title>APIs</title>"
    yield "<meta name=viewport content='width=device-width'><link rel=stylesheet href=assets/page.css>"
    yield "<main><h1>APIs</h1><p>As OpenAPI: <a href=spec>/spec</a>. To translate: <a href='./'>/</a>.</p>"
    for api in APIS:
        yield f"<section><h2>{html.escape(api.name)}</h2>"
        for operation in api.operations:
            yield f"<h3><code>{operation.method} {html.escape(operation.path)}</code></h3>"
            yield f"<p>{html.escape(operation.handler.__doc__ or '')}</p>"
            if operation.body is not None:
                yield from _table(operation.body.model_json_schema())
        yield "</section>"
    yield "</main>"


def _table(schema: dict[str, Any]) -> Iterator[str]:
    yield "<ul>"
    for name, field in schema["properties"].items():
        default = "required" if name in schema.get("required", ()) else json.dumps(field.get("default"))
        told = " ".join(kind.get("description", "") for kind in (field, *field.get("anyOf", ()))).strip()
        told += f" ({default})" if default not in ("null", "[]") else ""
        yield f"<li><code>{html.escape(name)}</code> {html.escape(told)}"
    yield "</ul>"


OPERATION = Api(
    "For those who run the server",
    (
        Operation("GET", "/health", _ready, open=True),
        Operation("GET", "/ready", _ready, open=True),
        Operation("GET", "/metrics", _metrics, open=True),
        Operation("GET", "/spec", _specification, open=True),
        Operation("GET", "/docs", _page, open=True),
    ),
    refuse,
)
APIS = (OWN, LIBRETRANSLATE, DEEPL, OPERATION)
