"""The ASGI application: every path of every API."""

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from translate.serve.apis import own
from translate.serve.apis.openapi import described, page
from translate.serve.live_page import File, headers, live_files
from translate.serve.service import READY, Service
from translate.serve.web.endpoint import Answer, Asked, Endpoint, Handler
from translate.serve.web.refusals import RefusalError


def build_application(service: Service) -> ASGIApp:
    """The application of a service."""
    routes: list[BaseRoute] = [*_operation(service), *_own(service), *_page(service)]
    routes.append(_route(service, "/{path:path}", own.OwnForm(), name="other", GET=_missing, POST=_missing))
    # No cookie is read, so that any page may ask what any program may.
    anybody = Middleware(
        CORSMiddleware, allow_origins=["*"], allow_methods=["*"], allow_headers=["*"], max_age=600
    )
    return Starlette(routes=routes, middleware=[anybody])


def _route(
    service: Service,
    path: str,
    form: object,
    *,
    name: str | None = None,
    open: bool = False,
    files: bool = False,
    **handlers: Handler,
) -> Route:
    return Route(path, Endpoint(service, name or path, form, handlers, open, files), name=name or path)  # type: ignore[arg-type]


def _operation(service: Service) -> list[Route]:
    """The paths for those who run the server."""
    form = own.OwnForm()
    return [
        _route(service, "/health", form, open=True, GET=_health),
        _route(service, "/ready", form, open=True, GET=_ready),
        _route(service, "/metrics", form, open=True, GET=_metrics),
        _route(service, "/spec", form, open=True, GET=described),
        _route(service, "/docs", form, open=True, GET=page),
    ]


def _own(service: Service) -> list[Route]:
    form = own.OwnForm()
    return [
        _route(service, "/v1/models", form, GET=own.models),
        _route(service, "/v1/translate", form, POST=own.translate),
        _route(service, "/v1/align", form, POST=own.align_pairs),
    ]


def _page(service: Service) -> list[Route]:
    """The live page and its files, which need no key; what it asks for does."""
    form = own.OwnForm()
    return [
        _route(service, path, form, name="page", open=True, GET=_shown(file))
        for path, file in live_files().items()
    ]


def _shown(file: File) -> Handler:
    async def show(asked: Asked) -> Answer:
        return Response(file.content, headers=headers(), media_type=file.media_type)

    return show


async def _health(asked: Asked) -> Answer:
    """Whether the process lives."""
    return own.json({"status": "ok"})


async def _ready(asked: Asked) -> Answer:
    """Whether it takes requests."""
    state = asked.service.state
    return own.json({"status": state}, 200 if state == READY else 503)


async def _metrics(asked: Asked) -> Answer:
    return Response(asked.service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


async def _missing(asked: Asked) -> Answer:
    raise RefusalError(404, "there is no such path; /docs lists all of them")
