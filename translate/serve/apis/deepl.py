"""The interface of DeepL, version 2, so that its official client works unchanged."""

import asyncio
import hmac
from collections.abc import Sequence
from typing import Any

from starlette.responses import Response

from translate.serve.apis.own import json
from translate.serve.catalogue import Served, language_code
from translate.serve.content.glossaries import Glossaries, Glossary, read_entries
from translate.serve.content.language_names import language_name
from translate.serve.content.store import Store, StoredDocument
from translate.serve.content.tagged import TagRules, read_tagged
from translate.serve.content.texts import TextPart, html, plain, translate_texts
from translate.serve.content.uploads import SAFE, read_file, translate_file
from translate.serve.languages import identify
from translate.serve.service import Service
from translate.serve.web.bodies import Fields, Upload
from translate.serve.web.endpoint import Answer, Asked
from translate.serve.web.refusals import RefusalError

VARIANTS = {"en": ("EN-GB", "EN-US"), "pt": ("PT-BR", "PT-PT")}  # the client refuses the bare codes
MAX_NAME = 256  # characters of the name of a file
SPLITTING = {"0": "whole", "1": "sentences", "nonewlines": "sentences"}
FORMALITIES = ("default", "prefer_more", "prefer_less")


class DeepLForm:
    """Keys in the header ``Authorization: DeepL-Auth-Key``; errors as a message."""

    async def key(self, asked: Asked) -> str | None:
        """The key of the header."""
        kind, _, key = asked.header("authorization").partition(" ")
        return key.strip() if kind.lower() == "deepl-auth-key" else None

    def refuse(self, refusal: RefusalError) -> Response:
        """The answer to a request that is refused."""
        return json({"message": refusal.message}, refusal.status, refusal.all_headers())


class DeepL:
    """The handlers, and what they keep: glossaries, documents, and the characters that were counted."""

    def __init__(self) -> None:
        self._glossaries = Glossaries()
        self._store = Store()
        self._tasks: set[asyncio.Task[None]] = set()
        self._characters = 0

    async def translate(self, asked: Asked) -> Answer:
        """``POST /v2/translate``."""
        fields, service = await asked.fields(), asked.service
        texts = _texts(fields, service)
        _check_options(fields)
        glossary = self._glossary(fields)
        sources = [_source(service, fields, text, glossary) for text in texts]
        target = _code(fields, "target_lang")
        parts = [_part(fields, text, code) for text, code in zip(texts, sources, strict=True)]
        terms = None if glossary is None else glossary.terms
        found: dict[int, str] = {}
        for code in dict.fromkeys(sources):  # texts of one language are one call
            chosen = [index for index, each in enumerate(sources) if each == code]
            served = service.catalogue.find(code, target)
            translated = await translate_texts(service, served, [parts[i] for i in chosen], terms=terms)
            found |= {index: each.text for index, each in zip(chosen, translated, strict=True)}
        asked.noted |= {"texts": len(texts), **service.log.shown(texts)}
        self._characters += sum(map(len, texts))
        rows = [
            {"detected_source_language": code.upper(), "text": found[index], "billed_characters": len(text)}
            for index, (code, text) in enumerate(zip(sources, texts, strict=True))
        ]
        return json({"translations": rows})

    async def languages(self, asked: Asked) -> Answer:
        """``GET /v2/languages``."""
        fields, catalogue = await asked.fields(), asked.service.catalogue
        kind = fields.get("type", "source")
        if kind not in ("source", "target"):
            raise RefusalError(400, "type: expected source or target")
        if kind == "source":
            codes = [(code, code.upper()) for code in catalogue.sources()]
        else:
            codes = [
                (code, variant)
                for code in catalogue.targets()
                for variant in VARIANTS.get(code, (code.upper(),))
            ]
        names = [{"language": shown, "name": language_name(code).english} for code, shown in codes]
        return json([{**each, "supports_formality": False} if kind == "target" else each for each in names])

    async def usage(self, asked: Asked) -> Answer:
        """``GET /v2/usage``: characters since the server began; there is no quota."""
        return json({"character_count": self._characters, "character_limit": 10**12})

    async def pairs(self, asked: Asked) -> Answer:
        """``GET /v2/glossary-language-pairs``."""
        models = asked.service.catalogue.models
        pairs = dict.fromkeys((each.source, each.target) for each in models)
        return json({"supported_languages": [{"source_lang": s, "target_lang": t} for s, t in pairs]})

    async def add_glossary(self, asked: Asked) -> Answer:
        """``POST /v2/glossaries``."""
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
        self._glossaries.add(glossary, service.catalogue.find(source, target))
        return json(_described(glossary), 201)

    async def list_glossaries(self, asked: Asked) -> Answer:
        """``GET /v2/glossaries``."""
        return json({"glossaries": [_described(each) for each in self._glossaries.all()]})

    async def show_glossary(self, asked: Asked) -> Answer:
        """``GET /v2/glossaries/{id}``."""
        return json(_described(self._glossaries.find(asked.request.path_params["id"])))

    async def show_entries(self, asked: Asked) -> Answer:
        """``GET /v2/glossaries/{id}/entries``."""
        glossary = self._glossaries.find(asked.request.path_params["id"])
        text = "\n".join(f"{term}\t{phrase}" for term, phrase in glossary.entries.items())
        return Response(text, headers=SAFE, media_type="text/tab-separated-values")

    async def delete_glossary(self, asked: Asked) -> Answer:
        """``DELETE /v2/glossaries/{id}``."""
        self._glossaries.remove(asked.request.path_params["id"])
        return Response(status_code=204)

    async def upload(self, asked: Asked) -> Answer:
        """``POST /v2/document``: the translation begins, and goes on after the answer."""
        fields, service = await asked.fields(), asked.service
        upload = fields.files.get("file")
        if upload is not None and isinstance(name := fields.get("filename"), str) and name:
            upload = Upload(name[:MAX_NAME], upload.content)
        glossary = self._glossary(fields)
        _check_options(fields)
        given = fields.get("source_lang") or (glossary and glossary.source)
        part = await read_file(service, upload, "" if not given else language_code(given))
        source = _source(service, fields, " ".join(part.sentences[:20]), glossary)
        served = service.catalogue.find(source, _code(fields, "target_lang"))
        assert upload is not None
        if service.engine.pieces > service.limits.queue // 2:
            raise RefusalError(429, "the queue is nearly full; try again", retry_after=5)
        token, stored = self._store.add(upload.name)
        task = asyncio.create_task(self._translate(service, served, part, stored, glossary))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        asked.noted |= {"model": served.name, "sentences": len(part.sentences)}
        return json({"document_id": token, "document_key": stored.key})

    async def status(self, asked: Asked) -> Answer:
        """``POST /v2/document/{id}``."""
        token, stored = await self._document(asked)
        answer: dict[str, Any] = {"document_id": token, "status": stored.status}
        if stored.status == "translating":
            answer["seconds_remaining"] = 1
        if stored.status == "done":
            answer["billed_characters"] = stored.characters
        if stored.status == "error":
            answer["message"] = answer["error_message"] = stored.message
        return json(answer)

    async def result(self, asked: Asked) -> Answer:
        """``POST /v2/document/{id}/result``: the translation, once."""
        token, stored = await self._document(asked)
        if stored.status != "done":
            raise RefusalError(503, "the document is not translated yet", retry_after=1)
        self._store.remove(token)
        headers = {**SAFE, "Content-Disposition": f'attachment; filename="{stored.name}"'}
        return Response(stored.content, headers=headers, media_type="application/octet-stream")

    async def _document(self, asked: Asked) -> tuple[str, StoredDocument]:
        token = asked.request.path_params["id"]
        key, stored = (await asked.fields()).get("document_key"), self._store.find(token)
        known = stored is not None and isinstance(key, str) and key.isascii()
        if stored is None or not known or not hmac.compare_digest(stored.key, key):
            raise RefusalError(404, "there is no such document, or it was kept long enough")
        return token, stored

    async def _translate(
        self,
        service: Service,
        served: Served,
        part: TextPart,
        stored: StoredDocument,
        glossary: Glossary | None,
    ) -> None:
        try:
            terms = None if glossary is None else glossary.terms
            await translate_file(service, served, part, stored, terms)
            self._characters += stored.characters
        except Exception as error:
            service.log.write("document", status="error", error=type(error).__name__)

    def _glossary(self, fields: Fields) -> Glossary | None:
        identifier = fields.get("glossary_id")
        if identifier in (None, ""):
            return None
        glossary = self._glossaries.find(identifier)
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
    sources = [each for each in service.catalogue.sources() if target in service.catalogue.targets(each)]
    if glossary is not None or not sources:
        return service.catalogue.find(None, target).source
    return identify(text, sources)[0]


def _part(fields: Fields, text: str, language: str) -> TextPart:
    """A text of a request, read as its options say."""
    handling = fields.get("tag_handling")
    if handling == "html":
        return html(text, language)
    if handling == "xml":
        rules = TagRules(
            _names(fields, "splitting_tags"),
            _names(fields, "non_splitting_tags"),
            _names(fields, "ignore_tags"),
            str(fields.get("outline_detection", "1")).lower() not in ("0", "false"),
        )
        return TextPart(read_tagged(text, language, rules))
    how = str(fields.get("split_sentences", "1")).lower()
    if how == "nonewlines":
        text = text.replace("\r\n", " ").replace("\n", " ")
    return plain(text, language, SPLITTING[how])


def _names(fields: Fields, name: str) -> list[str]:
    """Names of tags: an array, or a text with commas."""
    found: list[str] = []
    for value in fields.all(name):
        for part in value if isinstance(value, list) else [value]:
            if not isinstance(part, str):
                raise RefusalError(400, f"{name}: expected names of tags")
            found += [each.strip() for each in part.split(",") if each.strip()]
    return found[:1000]


def _check_options(fields: Fields) -> None:
    """Raise :class:`RefusalError` for an option that this server cannot obey."""
    handling = fields.get("tag_handling")
    if handling not in (None, "", "xml", "html"):
        raise RefusalError(400, "tag_handling: expected xml or html")
    if str(fields.get("split_sentences", "1")).lower() not in SPLITTING:
        raise RefusalError(400, "split_sentences: expected 0, 1 or nonewlines")
    formality = fields.get("formality")
    if formality not in (None, "", *FORMALITIES):
        raise RefusalError(400, f"formality: these models know only {', '.join(FORMALITIES)}")


def _described(glossary: Glossary) -> dict[str, Any]:
    return {
        "glossary_id": glossary.identifier,
        "ready": True,
        "name": glossary.name,
        "source_lang": glossary.source,
        "target_lang": glossary.target,
        "creation_time": glossary.created,
        "entry_count": len(glossary.entries),
    }
