"""The interface of Azure Translator, version 3: translations with alignments in characters."""

from collections.abc import Sequence
from typing import Any

from starlette.responses import Response

from translate.alignment.alignment import Alignment
from translate.serve.apis.own import json
from translate.serve.catalogue import language_code
from translate.serve.content.language_names import RIGHT_TO_LEFT, language_name
from translate.serve.content.texts import TextPart, Translated, html, plain, translate_texts
from translate.serve.languages import identify
from translate.serve.service import Service
from translate.serve.web.bodies import read_json
from translate.serve.web.endpoint import Answer, Asked
from translate.serve.web.refusals import RefusalError

VERSION = "3.0"
CODES = {400: 400000, 401: 401000, 403: 401000, 404: 404000, 405: 405000, 413: 413000, 429: 429000}


class AzureForm:
    """Keys in the header ``Ocp-Apim-Subscription-Key``; errors with a number and a message."""

    async def key(self, asked: Asked) -> str | None:
        """The key of the header."""
        return asked.header("ocp-apim-subscription-key") or None

    def refuse(self, refusal: RefusalError) -> Response:
        """The answer to a request that is refused."""
        status = 401 if refusal.code == "wrong_key" else refusal.status
        code = CODES.get(status, 1000 * status)
        error = {"error": {"code": code, "message": refusal.message}}
        return json(error, status, refusal.all_headers())


async def translate(asked: Asked) -> Answer:
    """``POST /translate?api-version=3.0``."""
    query, service = asked.request.query_params, asked.service
    texts = _texts(asked)
    targets = [language_code(code) for code in query.getlist("to")]
    if not targets:
        raise RefusalError(400, "to: expected the language to translate to")
    is_html = _one_of(query.get("textType", "plain"), "textType", ("plain", "html")) == "html"
    aligned = _one_of(query.get("includeAlignment", "false"), "includeAlignment", ("true", "false")) == "true"
    given = query.get("from")
    found = [_source(service, text, given) for text in texts]
    parts = [(html if is_html else plain)(text, code) for text, (code, _) in zip(texts, found, strict=True)]
    rows: list[dict[str, Any]] = [{**detected, "translations": []} for _, detected in found]
    sources = [code for code, _ in found]
    with_links = aligned and not is_html  # as Azure, which gives none for HTML
    for target in targets:
        translated = await _translate(service, sources, target, parts, with_links=with_links)
        for row, each in zip(rows, translated, strict=True):
            row["translations"].append(_translation(each, target, aligned=with_links))
    asked.noted |= {"texts": len(texts), **service.log.shown(texts)}
    return json(rows)


async def detect(asked: Asked) -> Answer:
    """``POST /detect?api-version=3.0``."""
    known = asked.service.catalogue.sources()
    rows = []
    for text in _texts(asked):
        code, confidence = identify(text, known)
        supported = {"isTranslationSupported": True, "isTransliterationSupported": False}
        rows.append({"language": code, "score": round(confidence, 2), **supported})
    return json(rows)


async def languages(asked: Asked) -> Answer:
    """``GET /languages?api-version=3.0``."""
    found = {
        code: {
            "name": language_name(code).english,
            "nativeName": language_name(code).own,
            "dir": "rtl" if code in RIGHT_TO_LEFT else "ltr",
        }
        for code in asked.service.catalogue.languages()
    }
    return json({"translation": found})


def projection(parts: Sequence[tuple[Alignment, int, int]]) -> str:
    """Links as Azure writes them: first and last character of the source word, and of the target word."""
    found = []
    for alignment, source_start, target_start in parts:
        for source, target in sorted(alignment.links()):
            start, end = alignment.source_offsets[source]
            begin, stop = alignment.target_offsets[target]
            source_range = f"{start + source_start}:{end + source_start - 1}"
            found.append(f"{source_range}-{begin + target_start}:{stop + target_start - 1}")
    return " ".join(found)


def _source(service: Service, text: str, given: str | None) -> tuple[str, dict[str, Any]]:
    """The language of a text, and what its answer says of it: nothing if the request told it."""
    if given:
        return language_code(given), {}
    source, confidence = identify(text, service.catalogue.sources())
    return source, {"detectedLanguage": {"language": source, "score": round(confidence, 2)}}


async def _translate(
    service: Service, sources: Sequence[str], target: str, parts: Sequence[TextPart], *, with_links: bool
) -> list[Translated]:
    """The texts in one language; those that come from one language are one call."""
    models = {source: service.catalogue.find(source, target) for source in dict.fromkeys(sources)}
    found: dict[int, Translated] = {}
    for source, served in models.items():
        chosen = [index for index, each in enumerate(sources) if each == source]
        texts = [parts[index] for index in chosen]
        translated = await translate_texts(service, served, texts, alignments=with_links)
        found |= zip(chosen, translated, strict=True)
    return [found[index] for index in range(len(parts))]


def _translation(found: Translated, target: str, *, aligned: bool) -> dict[str, Any]:
    row: dict[str, Any] = {"text": found.text, "to": target}
    if aligned:
        row["alignment"] = {"proj": projection(found.alignments())}
    return row


def _texts(asked: Asked) -> list[str]:
    version = asked.request.query_params.get("api-version")
    if version != VERSION:
        raise RefusalError(400, f"api-version: expected {VERSION}")
    values = read_json(asked.body)
    if not isinstance(values, list) or not values:
        raise RefusalError(400, 'the body is no array of objects with "Text"')
    texts = [
        next((value for name, value in each.items() if name.lower() == "text"), None)
        if isinstance(each, dict)
        else None
        for each in values
    ]
    return asked.service.check_texts(texts)


def _one_of(value: str, name: str, expected: Sequence[str]) -> str:
    lowered = value.lower()
    if lowered not in expected:
        raise RefusalError(400, f"{name}: expected {' or '.join(expected)}")
    return lowered
