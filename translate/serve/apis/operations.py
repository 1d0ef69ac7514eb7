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


def _fields(required: tuple[str, ...] = (), **fields: str) -> dict[str, Any]:
    """A schema from the type and the meaning of each field: ``q="string: the text"``."""
    properties = {}
    for name, text in fields.items():
        kind, _, meaning = text.partition(": ")
        properties[name] = {"type": kind, "description": meaning}
    return {"type": "object", "properties": properties, "required": list(required)}


SCHEMAS: dict[str, dict[str, Any]] = {
    "TranslateRequest": _schema(TranslateRequest),
    "AlignRequest": _schema(AlignRequest),
    "LibreTranslate": _fields(
        ("q", "source", "target"),
        q="string: the text; an array in JSON, or the field several times, for a batch",
        source="string: code of the language, or auto",
        target="string: code of the language",
        format="string: text or html",
        alternatives="integer: how many other translations; at most those that the beam has",
        api_key="string: the key, if the server has keys",
    ),
    "LibreText": _fields(("q",), q="string: the text", api_key="string: the key"),
    "LibreFile": _fields(
        ("file", "source", "target"),
        file="string: the file",
        source="string: code of the language, or auto",
        target="string: code of the language",
        api_key="string: the key",
    ),
    "DeepLText": _fields(
        ("text", "target_lang"),
        text="array: texts",
        source_lang="string: code of the language; identified if it is missing",
        target_lang="string: code of the language",
        split_sentences="string: 0, 1 or nonewlines",
        tag_handling="string: xml or html",
        outline_detection="boolean: whether elements side by side split sentences",
        splitting_tags="array: elements that no sentence crosses",
        non_splitting_tags="array: elements that never split",
        ignore_tags="array: elements that are not translated",
        glossary_id="string: terms to use",
        formality="string: default, prefer_more or prefer_less, which change nothing",
        preserve_formatting="boolean: accepted; formatting is always kept",
        context="string: accepted; these models do not read it",
    ),
    "DeepLGlossary": _fields(
        ("name", "source_lang", "target_lang", "entries"),
        name="string: of the glossary",
        source_lang="string: code of the language",
        target_lang="string: code of the language",
        entries="string: a line for each term",
        entries_format="string: tsv or csv",
    ),
    "DeepLDocument": _fields(
        ("file", "target_lang"),
        file="string: the file",
        source_lang="string: code of the language",
        target_lang="string: code of the language",
        glossary_id="string: terms to use",
    ),
    "DeepLDocumentKey": _fields(("document_key",), document_key="string: from the upload"),
}
LIBRE, DEEPL = "LibreTranslate", "DeepL, version 2"
AZURE_NOTE = " With api-version=3.0 in the query: as Azure Translator, version 3"
_ANY = (JSON, FORM, MULTIPART)
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
    Operation(
        LIBRE,
        "POST",
        "/translate",
        f"Translates a text or a batch.{AZURE_NOTE}, with includeAlignment.",
        "translatedText; detectedLanguage for auto; alternatives",
        "LibreTranslate",
        _ANY,
    ),
    Operation(
        LIBRE,
        "POST",
        "/detect",
        f"Identifies the language of a text.{AZURE_NOTE}.",
        "languages with confidences in percent",
        "LibreText",
        _ANY,
    ),
    Operation(LIBRE, "GET", "/languages", f"Lists the languages.{AZURE_NOTE}.", "codes, names, targets"),
    Operation(LIBRE, "GET", "/frontend/settings", "What a client may ask for.", "limits and formats"),
    Operation(LIBRE, "POST", "/suggest", "Suggestions, which this server refuses.", "403"),
    Operation(
        LIBRE, "POST", "/translate_file", "Translates a file.", "translatedFileUrl", "LibreFile", (MULTIPART,)
    ),
    Operation(LIBRE, "GET", "/download_file/{name}", "A translated file.", "the file, for 15 minutes"),
    Operation(
        DEEPL,
        "POST",
        "/v2/translate",
        "Translates texts.",
        "translations, with the language of each source",
        "DeepLText",
        (JSON, FORM),
    ),
    Operation(DEEPL, "GET", "/v2/languages", "Lists the languages.", "codes and names"),
    Operation(DEEPL, "GET", "/v2/usage", "Counts characters.", "those since the start; there is no quota"),
    Operation(DEEPL, "GET", "/v2/glossary-language-pairs", "Pairs for glossaries.", "pairs of codes"),
    Operation(DEEPL, "GET", "/v2/glossaries", "Lists the glossaries.", "all of them"),
    Operation(
        DEEPL, "POST", "/v2/glossaries", "Makes a glossary.", "its identifier", "DeepLGlossary", (JSON, FORM)
    ),
    Operation(DEEPL, "GET", "/v2/glossaries/{id}", "One glossary.", "its description"),
    Operation(DEEPL, "DELETE", "/v2/glossaries/{id}", "Deletes a glossary.", "nothing"),
    Operation(DEEPL, "GET", "/v2/glossaries/{id}/entries", "Its entries.", "lines with tabs"),
    Operation(
        DEEPL,
        "POST",
        "/v2/document",
        "Begins to translate a document.",
        "document_id and document_key",
        "DeepLDocument",
        (MULTIPART,),
    ),
    Operation(
        DEEPL, "POST", "/v2/document/{id}", "How far it is.", "status", "DeepLDocumentKey", (JSON, FORM)
    ),
    Operation(
        DEEPL,
        "POST",
        "/v2/document/{id}/result",
        "Fetches the translation, once.",
        "the file",
        "DeepLDocumentKey",
        (JSON, FORM),
    ),
    Operation(OPERATION, "GET", "/health", "Says that the process lives.", "status ok"),
    Operation(OPERATION, "GET", "/ready", "Says whether requests are taken.", "status ready, or 503"),
    Operation(OPERATION, "GET", "/metrics", "Counts and times for Prometheus.", "text"),
    Operation(OPERATION, "GET", "/spec", "This description.", "OpenAPI 3.1"),
    Operation(OPERATION, "GET", "/docs", "This description as a page.", "HTML"),
)
