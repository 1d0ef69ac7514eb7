"""The interface of DeepL, version 2, so that its official client works unchanged."""

import asyncio
import hmac
import secrets
from collections.abc import Sequence
from typing import Any

from starlette.responses import Response

from translate.serve.apis.libretranslate import file_response
from translate.serve.catalogue import Served, language_code
from translate.serve.documents import Document, TagRules, read_html, read_tagged
from translate.serve.glossaries import Glossary, add_glossary, find_glossary, read_entries
from translate.serve.languages import identify, language_name
from translate.serve.service import Service
from translate.serve.store import new_name
from translate.serve.texts import (
    SAFE,
    Part,
    in_sentences,
    read_file,
    read_text,
    translate_by_language,
    translate_file,
    whole,
)
from translate.serve.web.endpoint import Asked, Operation, json_response
from translate.serve.web.requests import NAME_LENGTH, Fields, RefusalError, Upload

VARIANTS = {"en": ("EN-GB", "EN-US"), "pt": ("PT-BR", "PT-PT")}  # the client refuses the bare codes
FORMALITIES = ("default", "prefer_more", "prefer_less")


class DeepLForm:
    """Keys in the header ``Authorization: DeepL-Auth-Key``; errors as a message."""

    async def key(self, asked: Asked) -> str | None:
        """The key of the header."""
        kind, _, key = asked.request.headers.get("authorization", "").partition(" ")
        return key.strip() if kind.lower() == "deepl-auth-key" else None

    def refuse(self, refusal: RefusalError) -> Response:
        """The answer to a request that is refused."""
        return json_response({"message": refusal.message}, refusal.status, refusal.all_headers())


async def translate(asked: Asked) -> Response:
    """``POST /v2/translate``: the translations of texts, plain or with tags."""
    fields, service = await asked.fields(), asked.service
    texts = _texts(fields, service)
    _check_options(fields)
    glossary = _glossary(fields, service)
    sources = [_source(service, fields, text, glossary) for text in texts]
    target = _code(fields, "target_lang")
    parts = [_part(fields, text, code) for text, code in zip(texts, sources, strict=True)]
    terms = None if glossary is None else glossary.terms
    translated = await translate_by_language(service, parts, sources, target, terms=terms)
    asked.note(texts)
    service.metrics.characters += sum(map(len, texts))
    rows = [
        {"detected_source_language": code.upper(), "text": found.text, "billed_characters": len(text)}
        for code, found, text in zip(sources, translated, texts, strict=True)
    ]
    return json_response({"translations": rows})


async def languages(asked: Asked) -> Response:
    """``GET /v2/languages``: those that the client may translate from or to."""
    catalogue, kind = asked.service.catalogue, (await asked.fields()).get("type", "source")
    if kind not in ("source", "target"):
        raise RefusalError(400, "type: expected source or target")
    if kind == "source":
        return json_response(
            [{"language": code.upper(), "name": language_name(code)} for code in catalogue.sources()]
        )
    return json_response(
        [
            {"language": variant, "name": language_name(code), "supports_formality": False}
            for code in catalogue.targets()
            for variant in VARIANTS.get(code, (code.upper(),))
        ]
    )


async def usage(asked: Asked) -> Response:
    """``GET /v2/usage``: characters since the process began; there is no quota."""
    return json_response({"character_count": asked.service.metrics.characters, "character_limit": 10**12})


async def pairs(asked: Asked) -> Response:
    """``GET /v2/glossary-language-pairs``: the pairs that have a model."""
    known = dict.fromkeys((served.source, served.target) for served in asked.service.catalogue.models)
    return json_response(
        {"supported_languages": [{"source_lang": source, "target_lang": target} for source, target in known]}
    )


async def make_glossary(asked: Asked) -> Response:
    """``POST /v2/glossaries``: keep the terms of a client."""
    fields, service = await asked.fields(), asked.service
    name, entries = fields.get("name"), fields.get("entries")
    form = str(fields.get("entries_format", "tsv")).lower()
    if not isinstance(name, str) or not 0 < len(name) <= 1024:
        raise RefusalError(400, "name: expected 1 to 1,024 characters")
    if not isinstance(entries, str) or form not in ("tsv", "csv"):
        raise RefusalError(400, "entries and entries_format: expected a text of lines, as tsv or csv")
    service.check_texts([name, entries])
    source, target = _code(fields, "source_lang"), _code(fields, "target_lang")
    glossary = Glossary(name, source, target, read_entries(entries, form))
    add_glossary(service, glossary, service.catalogue.find(source, target))
    return json_response(glossary.described(), 201)


async def list_glossaries(asked: Asked) -> Response:
    """``GET /v2/glossaries``: the descriptions of all, the oldest first."""
    service = asked.service
    found = [find_glossary(service, name).described() for name in service.glossaries.names()]
    return json_response({"glossaries": found})


async def show_glossary(asked: Asked) -> Response:
    """``GET /v2/glossaries/{id}``: the description of a glossary."""
    return json_response(find_glossary(asked.service, asked.request.path_params["id"]).described())


async def show_entries(asked: Asked) -> Response:
    """``GET /v2/glossaries/{id}/entries``: the terms, one a line, with tabs."""
    glossary = find_glossary(asked.service, asked.request.path_params["id"])
    text = "\n".join(f"{term}\t{phrase}" for term, phrase in glossary.entries.items())
    return Response(text, headers=SAFE, media_type="text/tab-separated-values")


async def delete_glossary(asked: Asked) -> Response:
    """``DELETE /v2/glossaries/{id}``: forget a glossary for good."""
    asked.service.glossaries.remove(find_glossary(asked.service, asked.request.path_params["id"]).identifier)
    return Response(status_code=204)


async def upload_document(asked: Asked) -> Response:
    """``POST /v2/document``: the translation begins, and goes on after the answer."""
    fields, service = await asked.fields(), asked.service
    upload = fields.files.get("file")
    if upload is not None and isinstance(name := fields.get("filename"), str) and name:
        upload = Upload(name[:NAME_LENGTH], upload.content)
    glossary = _glossary(fields, service)
    _check_options(fields)
    given = fields.get("source_lang") or (glossary and glossary.source)
    document = await read_file(service, upload, language_code(given) if given else "")
    source = _source(service, fields, " ".join(document.sentences[:20]), glossary)
    served = service.catalogue.find(source, _code(fields, "target_lang"))
    if service.engine.pieces > service.limits.queue // 2:
        raise RefusalError(429, "the queue is nearly full; try again", retry_after=5)
    assert upload is not None
    name, key = new_name(upload.name.rpartition(".")[2]), secrets.token_hex(32)
    service.documents.put(name, {"status": "translating", "key": key})
    task = asyncio.create_task(_translate_document(service, served, document, glossary, name, key))
    service.background.add(task)
    task.add_done_callback(service.background.discard)
    asked.noted |= {"model": served.name, "sentences": len(document.sentences)}
    return json_response({"document_id": name, "document_key": key})


async def document_status(asked: Asked) -> Response:
    """``POST /v2/document/{id}``: the state of a translation."""
    name, stored, _ = await _document(asked)
    answer: dict[str, Any] = {"document_id": name, "status": stored["status"]}
    if stored["status"] == "translating":
        answer["seconds_remaining"] = 1
    if stored["status"] == "done":
        answer["billed_characters"] = stored["characters"]
    if stored["status"] == "error":
        answer["message"] = answer["error_message"] = stored["message"]
    return json_response(answer)


async def document_result(asked: Asked) -> Response:
    """``POST /v2/document/{id}/result``: the translation, once."""
    name, stored, content = await _document(asked)
    if stored["status"] != "done":
        raise RefusalError(503, "the document is not translated yet", retry_after=1)
    asked.service.documents.remove(name)
    return file_response(name, content)


async def _document(asked: Asked) -> tuple[str, dict[str, Any], bytes]:
    """The name, the fields and the content of a document, for its owner."""
    name, key = asked.request.path_params["id"], (await asked.fields()).get("document_key")
    fields, content = asked.service.documents.get(name) or ({}, b"")
    expected = fields.get("key")
    known = isinstance(key, str) and key.isascii() and isinstance(expected, str)
    if not known or not hmac.compare_digest(expected, key):
        raise RefusalError(404, "there is no such document, or it was kept long enough")
    return name, fields, content


async def _translate_document(
    service: Service, served: Served, document: Document, glossary: Glossary | None, name: str, key: str
) -> None:
    """Translate a document and keep what comes out; an error is kept, too."""
    try:
        terms = None if glossary is None else glossary.terms
        content = await translate_file(service, served, document, terms)
        characters = sum(map(len, document.sentences))
        service.documents.put(name, {"status": "done", "key": key, "characters": characters}, content)
        service.metrics.characters += characters
    except Exception as error:
        message = error.message if isinstance(error, RefusalError) else "the server has failed"
        service.documents.put(name, {"status": "error", "key": key, "message": message})
        service.log.write("document", status="error", error=type(error).__name__)


def _glossary(fields: Fields, service: Service) -> Glossary | None:
    identifier = fields.get("glossary_id")
    if identifier in (None, ""):
        return None
    glossary = find_glossary(service, identifier)
    if fields.get("source_lang") in (None, ""):
        raise RefusalError(400, "source_lang: a glossary needs it")
    pair = _code(fields, "source_lang"), _code(fields, "target_lang")
    if pair != (glossary.source, glossary.target):
        raise RefusalError(400, f"glossary_id: it is for {glossary.source} to {glossary.target}")
    return glossary


def _texts(fields: Fields, service: Service) -> list[str]:
    values: Sequence[Any] = fields.all("text")
    if fields.is_json and values and isinstance(values[0], list):
        values = values[0]
    if not values:
        raise RefusalError(400, "Parameter 'text' not specified.")
    return service.check_texts(values)


def _code(fields: Fields, name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or not value:
        raise RefusalError(400, f"Parameter '{name}' not specified.")
    return language_code(value)


def _source(service: Service, fields: Fields, text: str, glossary: Glossary | None) -> str:
    if fields.get("source_lang") not in (None, ""):
        return _code(fields, "source_lang")
    target = _code(fields, "target_lang")
    sources = [
        source for source in service.catalogue.sources() if target in service.catalogue.targets(source)
    ]
    if glossary is not None or not sources:
        return service.catalogue.find(None, target).source
    return identify(text, sources)[0]


def _part(fields: Fields, text: str, language: str) -> Part:
    """A text of a request, read as its options say."""
    handling, how = fields.get("tag_handling"), _splitting(fields)
    if handling == "html":
        return read_text(lambda: read_html(text.encode(), "the text", language))
    if handling == "xml":
        rules = TagRules(
            _names(fields, "splitting_tags"),
            _names(fields, "non_splitting_tags"),
            _names(fields, "ignore_tags"),
            str(fields.get("outline_detection", "1")).lower() not in ("0", "false"),
        )
        return read_text(lambda: read_tagged(text, language, rules))
    if how == "0":
        return whole(text)
    return in_sentences(
        text.replace("\r\n", " ").replace("\n", " ") if how == "nonewlines" else text, language
    )


def _names(fields: Fields, name: str) -> list[str]:
    """Names of tags: an array, or a text with commas."""
    found: list[str] = []
    for value in fields.all(name):
        for part in value if isinstance(value, list) else [value]:
            if not isinstance(part, str):
                raise RefusalError(400, f"{name}: expected names of tags")
            found += [tag.strip() for tag in part.split(",") if tag.strip()]
    return found[:1000]


def _splitting(fields: Fields) -> str:
    return str(fields.get("split_sentences", "1")).lower()


def _check_options(fields: Fields) -> None:
    """Raise :class:`RefusalError` for an option that this server cannot obey."""
    if fields.get("tag_handling") not in (None, "", "xml", "html"):
        raise RefusalError(400, "tag_handling: expected xml or html")
    if _splitting(fields) not in ("0", "1", "nonewlines"):
        raise RefusalError(400, "split_sentences: expected 0, 1 or nonewlines")
    if fields.get("formality") not in (None, "", *FORMALITIES):
        raise RefusalError(400, f"formality: these models know only {', '.join(FORMALITIES)}")


_SINCE = "those since the start; there is no quota"
OPERATIONS = (
    Operation("POST", "/v2/translate", translate, "Translates texts.", "translations and source languages"),
    Operation("GET", "/v2/languages", languages, "Lists the languages.", "codes and names"),
    Operation("POST", "/v2/languages", languages, "Lists the languages.", "codes and names"),
    Operation("GET", "/v2/usage", usage, "Counts characters.", _SINCE),
    Operation("POST", "/v2/usage", usage, "Counts characters.", _SINCE),
    Operation("GET", "/v2/glossary-language-pairs", pairs, "Lists the pairs for glossaries.", "codes"),
    Operation("GET", "/v2/glossaries", list_glossaries, "Lists the glossaries.", "all of them"),
    Operation("POST", "/v2/glossaries", make_glossary, "Makes a glossary.", "its identifier"),
    Operation("GET", "/v2/glossaries/{id}", show_glossary, "Shows a glossary.", "its description"),
    Operation("DELETE", "/v2/glossaries/{id}", delete_glossary, "Deletes a glossary.", "nothing"),
    Operation("GET", "/v2/glossaries/{id}/entries", show_entries, "Lists its entries.", "lines with tabs"),
    Operation("POST", "/v2/document", upload_document, "Begins to translate.", "id and key", files=True),
    Operation("GET", "/v2/document/{id}", document_status, "Says how far it is.", "status"),
    Operation("POST", "/v2/document/{id}", document_status, "Says how far it is.", "status"),
    Operation("GET", "/v2/document/{id}/result", document_result, "Fetches it, once.", "the file"),
    Operation("POST", "/v2/document/{id}/result", document_result, "Fetches it, once.", "the file"),
)
