"""The interface of DeepL, version 2, so that its official client works unchanged."""

import asyncio
import hmac
import secrets
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field
from starlette.responses import Response

from translate.serve.catalogue import Code, Served
from translate.serve.documents import Document
from translate.serve.glossaries import Glossary, add_glossary, find_glossary
from translate.serve.service import Service, refusing
from translate.serve.texts import (
    SAFE,
    Part,
    file_response,
    read_file,
    read_part,
    translate_file,
    translate_parts,
    whole,
)
from translate.serve.web.endpoint import Api, Asked, Operation, json_response
from translate.serve.web.requests import NAME_LENGTH, FormBody, RefusalError, Texts, Upload, checked
from translate.text.glossary import Terms, read_entries
from translate.text.languages import identify, language_name

VARIANTS = {"en": ("EN-GB", "EN-US"), "pt": ("PT-BR", "PT-PT")}  # the client refuses the bare codes


def _lower(value: Any) -> Any:
    return str(value).lower() if isinstance(value, str | int) else value


def _names(value: Any) -> Any:
    """Names of tags: an array, or a text with commas."""
    parts = value if isinstance(value, list) else [value]
    split = [part.split(",") if isinstance(part, str) else [part] for part in parts]
    return [name.strip() if isinstance(name, str) else name for names in split for name in names]


Names = Annotated[tuple[str, ...], Field(max_length=1000), BeforeValidator(_names)]


def _refused(value: Any) -> None:
    raise ValueError("this server finds out by itself which tags end a sentence; leave it out")


NotHere = Annotated[None, BeforeValidator(_refused)]


class DeepLBody(FormBody):
    """The fields of every request to translate; ``context`` and others are accepted and not read."""

    source_lang: Code | None = None
    target_lang: Code
    glossary_id: Any = None
    formality: Literal["default", "prefer_more", "prefer_less"] = "default"  # changes nothing


class DeepLTexts(DeepLBody):
    """The body of ``POST /v2/translate``."""

    text: Annotated[Texts, Field(min_length=1)]
    split_sentences: Annotated[Literal["0", "1", "nonewlines"], BeforeValidator(_lower)] = "1"
    tag_handling: Literal["xml", "html"] | None = None
    ignore_tags: Names = ()
    splitting_tags: NotHere = None
    non_splitting_tags: NotHere = None
    outline_detection: NotHere = None


class DeepLFile(DeepLBody):
    """The body of ``POST /v2/document``."""

    file: Upload | None = None
    filename: Annotated[str, Field(max_length=NAME_LENGTH)] = ""


class DeepLGlossary(FormBody):
    """The body of ``POST /v2/glossaries``."""

    name: Annotated[str, Field(max_length=1024)]
    source_lang: Code
    target_lang: Code
    entries: str
    entries_format: Literal["tsv", "csv"] = "tsv"


async def _translate(asked: Asked) -> Response:
    """Translates texts, plain or with tags."""
    body, service = checked(DeepLTexts, await asked.fields()), asked.service
    texts = service.check_texts(body.text)
    terms = _terms(body, service)
    sources = [_source(service, body, text) for text in texts]
    parts = [_part(body, text, code) for text, code in zip(texts, sources, strict=True)]
    translated = await translate_parts(service, parts, sources, body.target_lang, terms=terms)
    asked.noted["texts"] = len(texts)
    service.metrics.characters += sum(map(len, texts))
    rows = [
        {"detected_source_language": code.upper(), "text": found.text, "billed_characters": len(text)}
        for code, found, text in zip(sources, translated, texts, strict=True)
    ]
    return json_response({"translations": rows})


async def _languages(asked: Asked) -> Response:
    """Lists the languages that the client may translate from, or to with type=target."""
    catalogue, kind = asked.service.catalogue, (await asked.fields()).get("type", "source")
    if kind not in ("source", "target"):
        raise RefusalError(400, "type: expected source or target")
    known = catalogue.sources() if kind == "source" else catalogue.targets()
    variants = {} if kind == "source" else VARIANTS
    more = {} if kind == "source" else {"supports_formality": False}
    rows = [
        {"language": shown, "name": language_name(code), **more}
        for code in known
        for shown in variants.get(code, (code.upper(),))
    ]
    return json_response(rows)


async def _usage(asked: Asked) -> Response:
    """Counts the characters since the process began; there is no quota."""
    return json_response({"character_count": asked.service.metrics.characters, "character_limit": 10**12})


async def _pairs(asked: Asked) -> Response:
    """Lists the pairs of languages that glossaries may have."""
    known = dict.fromkeys((served.source, served.target) for served in asked.service.catalogue.models)
    pairs = [{"source_lang": source, "target_lang": target} for source, target in known]
    return json_response({"supported_languages": pairs})


async def _make_glossary(asked: Asked) -> Response:
    """Keeps the terms of a client while the server runs; gives their identifier."""
    body, service = checked(DeepLGlossary, await asked.fields()), asked.service
    service.check_texts([body.name, body.entries])
    with refusing():
        entries = read_entries(body.entries, body.entries_format)
    glossary = Glossary(body.name, body.source_lang, body.target_lang, entries)
    add_glossary(service, glossary, service.catalogue.find(body.source_lang, body.target_lang))
    return json_response(glossary.described(), 201)


async def _list_glossaries(asked: Asked) -> Response:
    """Lists the glossaries, the oldest first."""
    service = asked.service
    found = [find_glossary(service, name).described() for name in service.glossaries.names()]
    return json_response({"glossaries": found})


async def _show_glossary(asked: Asked) -> Response:
    """Describes a glossary."""
    return json_response(find_glossary(asked.service, asked.request.path_params["id"]).described())


async def _show_entries(asked: Asked) -> Response:
    """Lists the terms of a glossary, one a line, with tabs."""
    glossary = find_glossary(asked.service, asked.request.path_params["id"])
    text = "\n".join(f"{term}\t{phrase}" for term, phrase in glossary.entries.items())
    return Response(text, headers=SAFE, media_type="text/tab-separated-values")


async def _delete_glossary(asked: Asked) -> Response:
    """Forgets a glossary for good."""
    asked.service.glossaries.remove(find_glossary(asked.service, asked.request.path_params["id"]).identifier)
    return Response(status_code=204)


async def _upload_document(asked: Asked) -> Response:
    """Begins to translate a file; gives its identifier and its key."""
    body, service = checked(DeepLFile, await asked.fields()), asked.service
    upload = body.file and Upload(body.filename or body.file.name, body.file.content)
    terms = _terms(body, service)
    document, name = await read_file(service, upload, body.source_lang or "", body.target_lang)
    source = _source(service, body, " ".join(document.sentences[:20]))
    served = service.catalogue.find(source, body.target_lang)
    if service.engine.pieces > service.limits.queue // 2:
        raise RefusalError.for_now(429, "the queue is nearly full; try again", 5)
    key = secrets.token_hex(32)
    service.documents.put(name, {"status": "translating", "key": key})
    task = asyncio.create_task(_translate_document(service, served, document, terms, name, key))
    service.background.add(task)
    task.add_done_callback(service.background.discard)
    asked.noted |= {"model": served.name, "sentences": len(document.sentences)}
    return json_response({"document_id": name, "document_key": key})


async def _translate_document(
    service: Service, served: Served, document: Document, terms: Terms | None, name: str, key: str
) -> None:
    """Translate a document and keep what comes out; an error is kept, too."""
    try:
        content = await translate_file(service, served, document, terms)
        characters = sum(map(len, document.sentences))
        service.documents.put(name, {"status": "done", "key": key, "billed_characters": characters}, content)
        service.metrics.characters += characters
    except Exception as error:
        message = error.message if isinstance(error, RefusalError) else "the server has failed"
        told = {"status": "error", "message": message, "error_message": message}
        service.documents.put(name, {**told, "key": key})
        service.log.write("document", status="error", error=type(error).__name__)


async def _document_status(asked: Asked) -> Response:
    """Says how far the translation of a document is."""
    name, stored, _ = await _document(asked)
    told = {name: value for name, value in stored.items() if name != "key"}
    left = {}
    if stored["status"] == "translating":
        left = {"seconds_remaining": 1}
        asked.service.documents.touch(name)
    return json_response({"document_id": name, **told, **left})


async def _document_result(asked: Asked) -> Response:
    """Fetches the translation of a document, once."""
    name, stored, content = await _document(asked)
    if stored["status"] != "done":
        raise RefusalError.for_now(503, "the document is not translated yet", 1)
    asked.service.documents.remove(name)
    return file_response(name, content)


async def _document(asked: Asked) -> tuple[str, dict[str, Any], bytes]:
    """The name, the fields and the content of a document, for its owner."""
    name, key = asked.request.path_params["id"], (await asked.fields()).get("document_key")
    fields, content = asked.service.documents.get(name) or ({}, b"")
    expected = fields.get("key")
    known = isinstance(key, str) and key.isascii() and isinstance(expected, str)
    if not known or not hmac.compare_digest(str(expected), str(key)):
        raise RefusalError(404, "there is no such document; a translation is fetched once, within 15 minutes")
    return name, fields, content


def _terms(body: DeepLBody, service: Service) -> Terms | None:
    """The terms of the glossary that a request names."""
    if body.glossary_id is None:
        return None
    glossary = find_glossary(service, body.glossary_id)
    if (body.source_lang, body.target_lang) != (glossary.source, glossary.target):
        pair = f"{glossary.source} to {glossary.target}"
        raise RefusalError(400, f"glossary_id: it is for {pair}; give both, source_lang and target_lang")
    return Terms(glossary.entries)


def _source(service: Service, body: DeepLBody, text: str) -> str:
    if body.source_lang is not None:
        return body.source_lang
    catalogue, target = service.catalogue, body.target_lang
    sources = [source for source in catalogue.sources() if target in catalogue.targets(source)]
    return identify(text, sources)[0] if sources else catalogue.find(None, target).source


def _part(body: DeepLTexts, text: str, language: str) -> Part:
    """A text of a request, read as its options say."""
    if body.tag_handling is None and body.split_sentences == "0":
        return whole(text)
    if body.tag_handling is None and body.split_sentences == "nonewlines":
        text = text.replace("\r\n", " ").replace("\n", " ")
    return read_part(text, language, body.tag_handling, body.ignore_tags)


def _refuse(refusal: RefusalError) -> Response:
    return json_response({"message": refusal.message}, refusal.status, refusal.headers)


def _both(path: str, handler: Any) -> Sequence[Operation]:
    return [Operation(method, path, handler) for method in ("GET", "POST")]


DEEPL = Api(
    "DeepL, version 2",
    (
        Operation("POST", "/v2/translate", _translate, DeepLTexts),
        *_both("/v2/languages", _languages),
        *_both("/v2/usage", _usage),
        Operation("GET", "/v2/glossary-language-pairs", _pairs),
        Operation("GET", "/v2/glossaries", _list_glossaries),
        Operation("POST", "/v2/glossaries", _make_glossary, DeepLGlossary),
        Operation("GET", "/v2/glossaries/{id}", _show_glossary),
        Operation("DELETE", "/v2/glossaries/{id}", _delete_glossary),
        Operation("GET", "/v2/glossaries/{id}/entries", _show_entries),
        Operation("POST", "/v2/document", _upload_document, files=True),
        *_both("/v2/document/{id}", _document_status),
        *_both("/v2/document/{id}/result", _document_result),
    ),
    _refuse,
    scheme="deepl-auth-key",
)
