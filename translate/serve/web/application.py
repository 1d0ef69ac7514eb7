"""The ASGI application: every path of every API."""

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from translate.serve.apis import azure, libretranslate, own
from translate.serve.apis.deepl import DeepL, DeepLForm
from translate.serve.apis.openapi import described, page
from translate.serve.content.store import Store
from translate.serve.live_page import File, headers, live_files
from translate.serve.service import READY, Service
from translate.serve.web.endpoint import Answer, Asked, ByVersion, Endpoint, Form, Handler
from translate.serve.web.refusals import RefusalError


def build_application(service: Service) -> ASGIApp:
    """The application of a service."""
    # They are tried in this order: those that programs ask most come first.
    routes = [*_own(service), *_libretranslate(service), *_deepl(service)]
    routes += [*_operation(service), *_page(service)]
    missing = dict.fromkeys(("GET", "POST", "PUT", "DELETE"), _missing)
    other = Endpoint(service, "other", own.OwnForm(), missing)
    # No cookie is read, so any page may ask what any program may.
    anybody = Middleware(
        CORSMiddleware, allow_origins=["*"], allow_methods=["*"], allow_headers=["*"], max_age=600
    )
    return Starlette(routes=[*routes, Route("/{path:path}", other)], middleware=[anybody])


def _route(
    service: Service,
    path: str,
    form: Form,
    *,
    open: bool = False,
    files: bool = False,
    keyless: bool = False,
    **handlers: Handler,
) -> Route:
    return Route(path, Endpoint(service, path, form, handlers, open, files, keyless))


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
        Route(path, Endpoint(service, "page", form, {"GET": _shown(file)}, open=True))
        for path, file in live_files().items()
    ]


def _shown(file: File) -> Handler:
    async def show(asked: Asked) -> Answer:
        return Response(file.content, headers=headers(), media_type=file.media_type)

    return show


def _libretranslate(service: Service) -> list[Route]:
    """LibreTranslate's paths, three of which Azure's share."""
    form, files = libretranslate.LibreForm(), libretranslate.Files(Store())
    name = "/download_file/{name}"  # which nobody guesses
    shared = [
        ("/translate", "POST", libretranslate.translate, azure.translate, False),
        ("/detect", "POST", libretranslate.detect, azure.detect, False),
        ("/languages", "GET", libretranslate.languages, azure.languages, True),  # as both services do
    ]
    return [
        *(
            Route(
                path,
                ByVersion(
                    Endpoint(
                        service, f"azure {path}", azure.AzureForm(), {method: versioned}, keyless=keyless
                    ),
                    Endpoint(service, path, form, {method: handler}, keyless=keyless),
                ),
            )
            for path, method, handler, versioned, keyless in shared
        ),
        _route(service, "/frontend/settings", form, keyless=True, GET=libretranslate.settings),
        _route(service, "/suggest", form, POST=libretranslate.suggest),
        _route(service, "/translate_file", form, files=True, POST=files.translate),
        _route(service, name, form, keyless=True, GET=files.download),
    ]


def _deepl(service: Service) -> list[Route]:
    form, deepl = DeepLForm(), DeepL()
    return [
        _route(service, "/v2/translate", form, POST=deepl.translate),
        _route(service, "/v2/languages", form, GET=deepl.languages, POST=deepl.languages),
        _route(service, "/v2/usage", form, GET=deepl.usage, POST=deepl.usage),
        _route(service, "/v2/glossary-language-pairs", form, GET=deepl.pairs),
        _route(service, "/v2/glossaries", form, GET=deepl.list_glossaries, POST=deepl.add_glossary),
        _route(service, "/v2/glossaries/{id}", form, GET=deepl.show_glossary, DELETE=deepl.delete_glossary),
        _route(service, "/v2/glossaries/{id}/entries", form, GET=deepl.show_entries),
        _route(service, "/v2/document", form, files=True, POST=deepl.upload),
        _route(service, "/v2/document/{id}", form, GET=deepl.status, POST=deepl.status),
        _route(service, "/v2/document/{id}/result", form, GET=deepl.result, POST=deepl.result),
    ]


async def _health(asked: Asked) -> Answer:
    """Whether the process lives."""
    return own.json({"status": "ok"})


async def _ready(asked: Asked) -> Answer:
    """Whether it takes requests."""
    condition = asked.service.condition
    return own.json({"status": condition}, 200 if condition == READY else 503)


async def _metrics(asked: Asked) -> Answer:
    return Response(asked.service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


async def _missing(asked: Asked) -> Answer:
    raise RefusalError(404, "there is no such path; /docs lists all of them")
