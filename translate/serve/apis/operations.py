"""What the server offers, as data: the operations of every API and the fields that they take."""

from dataclasses import dataclass
from typing import Any

from translate.serve.apis.shapes import AlignRequest, TranslateRequest

JSON, FORM, MULTIPART = "application/json", "application/x-www-form-urlencoded", "multipart/form-data"
OWN, OPERATION = "Our own API", "For those who run the server"


@dataclass(frozen=True)
class Operation:
    """A method of a path.

    Attributes:
        api: that it belongs to.
        method, path: where.
        summary: what it does, as a sentence.
        answer: what comes back.
        body: the schema of what it takes, if anything.
        encodings: of the body.
    """

    api: str
    method: str
    path: str
    summary: str
    answer: str
    body: str | None = None
    encodings: tuple[str, ...] = (JSON,)


def _schema(shape: type[Any]) -> dict[str, Any]:
    """The schema of a checked shape, without titles."""
    schema: dict[str, Any] = shape.model_json_schema()
    for field in schema["properties"].values():
        field.pop("title", None)
    return schema


SCHEMAS: dict[str, dict[str, Any]] = {
    "TranslateRequest": _schema(TranslateRequest),
    "AlignRequest": _schema(AlignRequest),
}
OPERATIONS = (
    Operation(OWN, "GET", "/v1/models", "Lists the models of the server.", "names, languages, methods"),
    Operation(
        OWN,
        "POST",
        "/v1/translate",
        "Translates a text or several, with links between the words.",
        "texts, scores, words with their offsets in characters, links with weights; server-sent events "
        "partial, sentence and done if stream is true",
        "TranslateRequest",
    ),
    Operation(
        OWN,
        "POST",
        "/v1/align",
        "Links the words of a text and a given translation.",
        "words with their offsets, links with weights",
        "AlignRequest",
    ),
    Operation(OPERATION, "GET", "/health", "Says that the process lives.", "status ok"),
    Operation(OPERATION, "GET", "/ready", "Says whether requests are taken.", "status ready, or 503"),
    Operation(OPERATION, "GET", "/metrics", "Counts and times for Prometheus.", "text"),
    Operation(OPERATION, "GET", "/spec", "This description.", "OpenAPI 3.1"),
    Operation(OPERATION, "GET", "/docs", "This description as a page.", "HTML"),
)
