"""Requests: their bodies, bounded while they arrive and checked before they are used, and their refusals."""

import asyncio
import json
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Annotated, Any, NamedTuple, TypeVar
from urllib.parse import parse_qs

from pydantic import BaseModel, BeforeValidator, Field, ValidationError, model_validator
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.types import Message

from translate.config.messages import named_elsewhere
from translate.config.names import did_you_mean, nearest, shorten

Body = TypeVar("Body", bound=BaseModel)

MAX_FIELDS = 5_000  # of a form or a query
CLOSE = {"Connection": "close"}  # the rest of the request is not read
NAME_LENGTH = 256  # characters of the name of a file


@dataclass(eq=False)
class RefusalError(Exception):
    """A request that gets no answer.

    Attributes:
        status: of HTTP.
        message: one sentence: what came, what was expected.
        headers: of the answer.
    """

    status: int
    message: str
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def code(self) -> str:
        """A word for programs."""
        return HTTPStatus(self.status).name.lower()

    @classmethod
    def for_now(cls, status: int, message: str, seconds: int) -> "RefusalError":
        """A refusal of a request that may come again."""
        return cls(status, message, {"Retry-After": str(seconds)})


def stopping() -> RefusalError:
    """The refusal of whatever is not answered when the server ends."""
    return RefusalError.for_now(503, "the server stops; try again later", 2)


class Upload(NamedTuple):
    """A file of a form."""

    name: str
    content: bytes


def as_list(value: Any) -> list[Any]:
    """The value itself if it is a list, or else in one."""
    return value if isinstance(value, list) else [value]


Texts = Annotated[list[str], BeforeValidator(as_list), Field(description="a text, or several")]


class FormBody(BaseModel):
    """The fields of a service that others have designed: in any encoding, with more of them than are read.

    An empty field counts as not given, except for the text itself, which may be empty.
    """

    @model_validator(mode="before")
    @classmethod
    def _without_empty_fields(cls, fields: dict[str, Any]) -> dict[str, Any]:
        texts = ("q", "text")
        return {name: value for name, value in fields.items() if name in texts or value not in (None, "")}


async def read_body(request: Request, most: int, seconds: float) -> bytes:
    """The body of a request.

    Raises:
        RefusalError: if it has more than ``most`` bytes, or does not arrive within ``seconds``.
        ClientDisconnect: if it ends early.
    """
    told = request.headers.get("content-length", "0")
    if told.isascii() and told.isdigit() and int(told[:18]) > most:
        raise _too_large(most)
    body = bytearray()  # grows in place: a list of tiny parts would take many times their bytes
    try:
        async with asyncio.timeout(seconds):
            async for part in request.stream():
                body += part
                if len(body) > most:
                    raise _too_large(most)
    except TimeoutError as error:
        raise RefusalError(408, f"the body did not arrive within {seconds:g} seconds", CLOSE) from error
    return bytes(body)


def _too_large(most: int) -> RefusalError:
    return RefusalError(413, f"the body has more than {most:,} bytes; send less at a time", CLOSE)


def checked(shape: type[Body], fields: dict[str, Any]) -> Body:
    """The fields of a request as an object of ``shape``.

    Raises:
        RefusalError: naming the first field that is wrong.
    """
    try:
        return shape.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        given = str(first["loc"][0]) if first["loc"] else ""
        other = named_elsewhere(given).removeprefix("search.")
        near = did_you_mean(other if other in shape.model_fields else nearest(given, shape.model_fields))
        known = {
            "extra_forbidden": f"there is no such field{near}",
            "missing": "this field is missing; see /docs",
        }
        message = shorten(known.get(first["type"], first["msg"]).removeprefix("Value error, "))
        field = "".join(f"{shorten(str(name), 40)}: " for name in first["loc"][:1])
        raise RefusalError(400, field + message) from error


def read_object(body: bytes) -> dict[str, Any]:
    """The JSON object of a body.

    Raises:
        RefusalError: if it is none.
    """
    if not body.strip():
        raise RefusalError(400, "the body is empty; expected a JSON object")
    try:
        value = json.loads(body.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        kind = "nested too deeply" if isinstance(error, RecursionError) else "not JSON in UTF-8"
        if isinstance(error, json.JSONDecodeError):
            kind = f"not JSON (line {error.lineno}, column {error.colno}: {error.msg})"
        raise RefusalError(400, f"the body is {kind}; expected a JSON object") from error
    if not isinstance(value, dict):
        kinds = {list: "array", str: "string", bool: "boolean", type(None): "null"}
        kind = kinds.get(type(value), "number")
        raise RefusalError(400, f"the body is a JSON {kind}; expected an object")
    return value


async def read_fields(request: Request, body: bytes) -> dict[str, Any]:
    """The fields of JSON or of a form, and those of the query; one that is given several times is a list."""
    content_type = request.headers.get("content-type", "").split(";")[0].strip().lower()
    fields, sent = dict[str, Any](), list[tuple[str, list[Any]]]()
    form = content_type in ("application/x-www-form-urlencoded", "multipart/form-data")
    json_in_form = form and body.lstrip().startswith(b"{")  # curl -d calls its data so, whatever they are
    if json_in_form or content_type == "application/json" or content_type.endswith("+json"):
        fields = read_object(body)
    elif content_type == "multipart/form-data":
        sent = await _read_form(request, body)
    elif form:
        sent = _read_query(body, "form")
    elif body.strip():
        raise RefusalError(415, "expected a body in application/json, a form or a multipart form")
    for name, values in [*sent, *_read_query(request.scope["query_string"], "query")]:
        given = as_list(fields.get(name, []))
        if more := [value for value in values if value not in given]:  # some clients send the same in both
            fields[name] = [*given, *more] if given or len(more) > 1 else more[0]
    return fields


def _read_query(encoded: bytes, what: str) -> list[tuple[str, list[Any]]]:
    """The fields of a query or a form; text may also stand in it as it is, as of ``curl -d``."""
    try:
        return [*parse_qs(encoded.decode(), True, max_num_fields=MAX_FIELDS, errors="strict").items()]
    except ValueError as error:
        raise RefusalError(400, f"the {what} is not UTF-8, or has too many fields") from error


async def _read_form(request: Request, body: bytes) -> list[tuple[str, list[Any]]]:
    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    found: dict[str, list[Any]] = {}
    try:
        reading = Request(request.scope, receive)
        async with reading.form(max_files=1, max_fields=MAX_FIELDS, max_part_size=len(body) + 1) as form:
            for name, value in form.multi_items():
                read: Any = value
                if isinstance(value, UploadFile):
                    read = Upload((value.filename or "")[:NAME_LENGTH], await value.read())
                found.setdefault(name, []).append(read)
    except Exception as error:  # starlette hides the parser's error in one of its own
        raise RefusalError(400, "the form is damaged; expected fields and at most one file") from error
    return [*found.items()]


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
