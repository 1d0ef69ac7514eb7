"""``/spec``: the description of every API in OpenAPI, and ``/docs``, a page that shows it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from starlette.responses import Response

from translate.serve.web.endpoint import Operation
from translate.text.escape import for_html
from translate.version import __version__

Apis = Mapping[str, Sequence[Operation]]  # by their names

STYLE = (
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;width:100%}td,th{border-bottom:1px solid #8888;padding:.3rem .6rem;"
    "text-align:start;vertical-align:top}code{font-size:.95em}:root{color-scheme:light dark;"
    "background:Canvas;color:CanvasText}"
)
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def fields(required: tuple[str, ...] = (), **meanings: str) -> dict[str, Any]:
    """A schema from the type and the meaning of each field: ``q="string: the text"``."""
    parts = {name: text.partition(": ") for name, text in meanings.items()}
    properties = {name: {"type": kind, "description": meaning} for name, (kind, _, meaning) in parts.items()}
    return {"type": "object", "properties": properties, "required": list(required)}


def specification(apis: Apis) -> dict[str, Any]:
    """The document of OpenAPI."""
    paths: dict[str, Any] = {}
    for api, operations in apis.items():
        for operation in operations:
            described = _described(api, operation)
            paths.setdefault(operation.path, {})[operation.method.lower()] = described
    return {
        "openapi": "3.1.0",
        "info": {"title": "translate", "version": __version__, "description": "Translations with links"},
        "paths": paths,
        "components": {"securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}}},
    }


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
        found["requestBody"] = {"content": {kind: {"schema": operation.body} for kind in operation.encodings}}
    return found


def page(apis: Apis) -> Response:
    """The page."""
    headers = {"Content-Security-Policy": POLICY}
    return Response("".join(_parts(apis)), media_type="text/html", headers=headers)


def _parts(apis: Apis) -> Iterator[str]:
    yield f"<!doctype html><html lang=en><meta charset=utf-8><title>APIs</title><style>{STYLE}</style>"
    yield "<meta name=viewport content='width=device-width'><main><h1>APIs</h1>"
    yield "<p>As OpenAPI: <a href=spec>/spec</a>. The page to translate in: <a href='./'>/</a>.</p>"
    for api, operations in apis.items():
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
