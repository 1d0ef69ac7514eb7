"""``/spec``: the description of every API in OpenAPI, and ``/docs``, a page that shows it."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from starlette.responses import Response

from translate.serve.apis.operations import OPERATIONS, SCHEMAS, Operation
from translate.serve.apis.own import json
from translate.serve.web.endpoint import Answer, Asked
from translate.text.escape import for_html
from translate.version import __version__

STYLE = (
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;width:100%}td,th{border-bottom:1px solid #8888;padding:.3rem .6rem;"
    "text-align:start;vertical-align:top}code{font-size:.95em}:root{color-scheme:light dark;"
    "background:Canvas;color:CanvasText}"
)
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


async def described(asked: Asked) -> Answer:
    """``GET /spec``."""
    return json(specification())


async def page(asked: Asked) -> Answer:
    """``GET /docs``."""
    return Response(_page(), media_type="text/html", headers={"Content-Security-Policy": POLICY})


@cache
def specification() -> dict[str, Any]:
    """The document of OpenAPI."""
    paths: dict[str, Any] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _described(operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "translate", "version": __version__, "description": "Translations with links"},
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


def _described(operation: Operation) -> dict[str, Any]:
    responses: dict[str, Any] = {"200": {"description": operation.answer}}
    if operation.method == "POST":
        responses |= {"400": {"description": "what is wrong"}, "413": {"description": "too large"}}
        responses |= {"429": {"description": "busy; Retry-After says for how long"}}
    found: dict[str, Any] = {"summary": operation.summary, "tags": [operation.api], "responses": responses}
    found["operationId"] = re.sub(r"\W+", "_", f"{operation.method.lower()}{operation.path}")
    names = [part[1:-1] for part in operation.path.split("/") if part.startswith("{")]
    if names:
        found["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names
        ]
    if operation.body is not None:
        schema = {"$ref": f"#/components/schemas/{operation.body}"}
        found["requestBody"] = {"content": {kind: {"schema": schema} for kind in operation.encodings}}
    return found


@cache
def _page() -> str:
    return "".join(_parts())


def _parts() -> Iterator[str]:
    yield f"<!doctype html><html lang=en><meta charset=utf-8><title>APIs</title><style>{STYLE}</style>"
    yield "<meta name=viewport content='width=device-width'><main><h1>APIs</h1>"
    yield "<p>As OpenAPI: <a href=spec>/spec</a>. The page to translate in: <a href='./'>/</a>.</p>"
    api = ""
    for operation in OPERATIONS:
        if operation.api != api:
            api = operation.api
            yield f"<h2>{for_html(api)}</h2>"
        yield f"<h3><code>{operation.method} {for_html(operation.path)}</code></h3>"
        yield f"<p>{for_html(operation.summary)} Answer: {for_html(operation.answer)}.</p>"
        if operation.body is not None:
            yield from _table(SCHEMAS[operation.body])
    yield "</main>"


def _table(schema: dict[str, Any]) -> Iterator[str]:
    yield "<table><tr><th>field<th>type<th>default<th>meaning"
    required = schema.get("required", [])
    for name, field in schema.get("properties", {}).items():
        default = "required" if name in required else to_text(field.get("default"))
        cells = f"<code>{for_html(name)}</code>", _kind(field), default, field.get("description", "")
        yield "<tr><td>" + "<td>".join([cells[0], *(for_html(cell) for cell in cells[1:])])
    yield "</table>"


def _kind(field: dict[str, Any]) -> str:
    if "anyOf" in field:
        return " or ".join(_kind(each) for each in field["anyOf"] if each.get("type") != "null")
    if "enum" in field:
        return ", ".join(map(str, field["enum"]))
    kind = str(field.get("type", ""))
    return f"array of {_kind(field['items'])}" if kind == "array" and "items" in field else kind


def to_text(value: object) -> str:
    """A default value as the page shows it."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
