"""Requests: their bodies, bounded while they arrive and checked before they are used, and their refusals."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.types import Message

MAX_FIELDS = 5_000  # of a form or a query
NAME_LENGTH = 256  # characters of the name of a file
CODES = {
    400: "bad_request",
    401: "wrong_key",
    403: "wrong_key",
    404: "not_found",
    405: "wrong_method",
    408: "too_slow",
    411: "no_length",
    413: "too_large",
    415: "wrong_type",
    429: "busy",
    431: "too_large",
    500: "internal",
    503: "unavailable",
}


@dataclass(eq=False)
class RefusalError(Exception):
    """A request that gets no answer.

    Attributes:
        status: of HTTP.
        message: one sentence: what came, what was expected.
        retry_after: seconds, if the client may try again.
        headers: more of them.
        close: whether the connection ends, since the rest of the request is not read.
    """

    status: int
    message: str
    retry_after: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    close: bool = False

    @property
    def code(self) -> str:
        """A word for programs."""
        return CODES.get(self.status, "error")

    def all_headers(self) -> dict[str, str]:
        """The headers of the answer."""
        found = dict(self.headers)
        if self.retry_after is not None:
            found["Retry-After"] = str(self.retry_after)
        if self.close:
            found["Connection"] = "close"
        return found


@dataclass
class Upload:
    """A file of a form."""

    name: str
    content: bytes


@dataclass
class Fields:
    """The values of a request by their names, in whatever encoding.

    Attributes:
        values: the values of each name, in their order; of JSON one each, of any type.
        files: the files of each name.
        is_json: whether they come from a JSON object.
    """

    values: dict[str, list[Any]] = field(default_factory=dict)
    files: dict[str, Upload] = field(default_factory=dict)
    is_json: bool = False

    def get(self, name: str, default: Any = None) -> Any:
        """The first value of a name."""
        return self.values.get(name, [default])[0]

    def all(self, name: str) -> list[Any]:
        """All values of a name."""
        return self.values.get(name, [])


async def read_body(request: Request, most: int, seconds: float) -> bytes:
    """The body of a request.

    Raises:
        RefusalError: if it has more than ``most`` bytes, or does not arrive within ``seconds``.
        ClientDisconnect: if it ends early.
    """
    told = request.headers.get("content-length", "0")
    too_large = RefusalError(413, f"the body has more than {most:,} bytes; send less at a time", close=True)
    if told.isascii() and told.isdigit() and int(told[:18]) > most:
        raise too_large
    body = bytearray()  # grows in place: a list of tiny parts would take many times their bytes
    try:
        async with asyncio.timeout(seconds):
            async for part in request.stream():
                body += part
                if len(body) > most:
                    raise too_large
    except TimeoutError as error:
        raise RefusalError(408, f"the body did not arrive within {seconds:g} seconds", close=True) from error
    return bytes(body)


def read_json(body: bytes) -> Any:
    """The value of a JSON text.

    Raises:
        RefusalError: if it is none.
    """
    if not body.strip():
        raise RefusalError(400, "the body is empty; expected a JSON object")
    try:
        return json.loads(body.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        kind = "nested too deeply" if isinstance(error, RecursionError) else "not JSON in UTF-8"
        raise RefusalError(400, f"the body is {kind}; expected a JSON object") from error


def read_object(body: bytes) -> dict[str, Any]:
    """The JSON object of a body."""
    value = read_json(body)
    if not isinstance(value, dict):
        raise RefusalError(400, f"the body is a JSON {_kind(value)}; expected an object")
    return value


async def read_fields(request: Request, body: bytes) -> Fields:
    """The fields of JSON or of a form, and those of the query."""
    content_type = request.headers.get("content-type", "").split(";")[0].strip().lower()
    fields = Fields()
    if content_type == "application/json" or content_type.endswith("+json"):
        fields = Fields({name: [value] for name, value in read_object(body).items()}, is_json=True)
    elif content_type in ("application/x-www-form-urlencoded", "multipart/form-data"):
        fields = await _read_form(request, body)
    elif body.strip():
        raise RefusalError(415, "expected a body in application/json, a form or a multipart form")
    both = {
        name: {value for value in values if isinstance(value, str)} for name, values in fields.values.items()
    }
    for name, value in _pairs(request.url.query):
        if value not in both.get(name, ()):  # some clients send the same in both
            fields.values.setdefault(name, []).append(value)
    return fields


async def _read_form(request: Request, body: bytes) -> Fields:
    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    found = Fields()
    try:
        form: FormData = await Request(request.scope, receive).form(
            max_files=1, max_fields=MAX_FIELDS, max_part_size=len(body) + 1
        )
    except Exception as error:  # starlette hides the parser's error in one of its own
        raise RefusalError(400, "the form is damaged; expected fields and at most one file") from error
    try:
        for name, value in form.multi_items():
            if isinstance(value, UploadFile):
                content = await value.read()
                found.files[name] = Upload((value.filename or "")[:NAME_LENGTH], content)
            else:
                found.values.setdefault(name, []).append(value)
    finally:
        await form.close()
    return found


def _pairs(query: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query, keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="strict")
    except ValueError as error:
        raise RefusalError(400, "the query is not UTF-8, or has too many fields") from error


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _kind(value: Any) -> str:
    kinds = {list: "array", str: "string", bool: "boolean", type(None): "null"}
    return kinds.get(type(value), "number")
