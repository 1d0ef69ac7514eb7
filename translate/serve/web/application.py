"""The ASGI application: every path of every API."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import groupby

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from translate.serve.apis import deepl, libretranslate, own
from translate.serve.apis.openapi import page, specification
from translate.serve.live_page import File, headers, live_files
from translate.serve.service import Service
from translate.serve.web.endpoint import Asked, Endpoint, Form, Operation, json_response
from translate.serve.web.refusals import RefusalError


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
    """A route for each path; its operations stand side by side."""
    return [
        Route(path, Endpoint(service, path, form, {each.method: each for each in same}))
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
    return json_response(specification(_apis()))


async def _page(asked: Asked) -> Response:
    return page(_apis())


def _apis() -> dict[str, Sequence[Operation]]:
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
