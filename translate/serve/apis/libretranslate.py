"""The interface of LibreTranslate, so that its clients work unchanged."""

from collections.abc import Sequence
from typing import Any

from starlette.responses import Response

from translate.serve.apis.own import OwnForm, json
from translate.serve.catalogue import language_code
from translate.serve.content.language_names import language_name
from translate.serve.content.store import Store
from translate.serve.content.texts import html, plain, translate_texts
from translate.serve.content.uploads import SAFE, read_file, translate_file
from translate.serve.documents import FORMATS
from translate.serve.languages import identify
from translate.serve.service import Service
from translate.serve.web.bodies import Fields
from translate.serve.web.endpoint import Answer, Asked
from translate.serve.web.refusals import RefusalError

Detected = dict[str, Any]
MAX_ALTERNATIVES = 16


class LibreForm:
    """Keys as the field ``api_key`` (or ``apiKey``, as one client writes it), or as bearer tokens.

    Errors are one sentence.
    """

    async def key(self, asked: Asked) -> str | None:
        """The field ``api_key``, or the token of the header ``Authorization``."""
        fields = await asked.fields()
        key = fields.get("api_key") or fields.get("apiKey")
        return key if isinstance(key, str) and key else await OwnForm().key(asked)

    def refuse(self, refusal: RefusalError) -> Response:
        """The answer to a request that is refused."""
        status = 400 if refusal.status in (413, 415) else refusal.status
        return json({"error": refusal.message}, status, refusal.all_headers())


async def translate(asked: Asked) -> Answer:
    """``POST /translate``."""
    fields, service = await asked.fields(), asked.service
    texts, is_batch = _texts(fields, service)
    kind = fields.get("format") or "text"
    if kind not in ("text", "html"):
        raise RefusalError(400, "format: expected text or html")
    alternatives = _number(fields.get("alternatives"), "alternatives")
    target = language_code(_needed(fields, "target"))
    detected = [_source(service, fields, text) for text in texts]
    _check_target(service, target)
    languages_of_texts = [language for language, _ in detected]
    found = await _translate(service, languages_of_texts, target, texts, kind, alternatives)
    asked.noted |= {"texts": len(texts), **service.log.shown(texts)}
    answer: dict[str, Any] = {"translatedText": [text for text, _ in found]}
    if detected and detected[0][1] is not None:
        answer["detectedLanguage"] = [each for _, each in detected]
    if alternatives:
        answer["alternatives"] = [others for _, others in found]
    if not is_batch:
        answer = {name: values[0] for name, values in answer.items()}
    return json(answer)


async def detect(asked: Asked) -> Answer:
    """``POST /detect``: the languages of a text, the likeliest first."""
    fields, service = await asked.fields(), asked.service
    texts, is_batch = _texts(fields, service)
    found = [[detected(service, text)] for text in texts]
    return json(found if is_batch else found[0])


async def languages(asked: Asked) -> Answer:
    """``GET /languages``: also those that are only a target, since clients look for theirs among all."""
    catalogue = asked.service.catalogue
    return json(
        [
            {"code": code, "name": language_name(code).english, "targets": [code, *catalogue.targets(code)]}
            for code in catalogue.languages()
        ]
    )


async def settings(asked: Asked) -> Answer:
    """``GET /frontend/settings``."""
    service = asked.service
    sides = {"source": service.catalogue.sources()[:1], "target": service.catalogue.targets()[:1]}
    return json(
        {
            "charLimit": service.limits.characters,
            "frontendTimeout": 500,
            "apiKeys": service.keys.needed,
            "keyRequired": service.keys.needed,
            "suggestions": False,
            "filesTranslation": True,
            "supportedFilesFormat": list(FORMATS),
            "language": {
                side: {"code": code, "name": language_name(code).english}
                for side, codes in sides.items()
                for code in codes
            },
        }
    )


async def suggest(asked: Asked) -> Answer:
    """``POST /suggest``: this server takes no suggestions."""
    raise RefusalError(403, "suggestions are turned off on this server")


class Files:
    """``POST /translate_file`` and ``GET /download_file/...``.

    Args:
        store: for the translated files.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    async def translate(self, asked: Asked) -> Answer:
        """Translate a file and say where it is to be fetched."""
        fields, service = await asked.fields(), asked.service
        upload = fields.files.get("file")
        target = language_code(_needed(fields, "target"))
        language = _needed(fields, "source")
        part = await read_file(service, upload, "" if language == "auto" else language_code(language))
        source = _source(service, fields, " ".join(part.sentences[:20]))[0]
        served = service.catalogue.find(source, target)
        assert upload is not None
        token, stored = self._store.add(upload.name)
        asked.noted |= {"model": served.name, "sentences": len(part.sentences)}
        await translate_file(service, served, part, stored)
        return json(
            {"translatedFileUrl": str(asked.request.base_url.replace(path=f"/download_file/{token}"))}
        )

    async def download(self, asked: Asked) -> Answer:
        """A translated file; its name is looked up, and is no path."""
        stored = self._store.find(asked.request.path_params["name"])
        if stored is None or stored.status != "done":
            raise RefusalError(404, "there is no such file, or it was kept long enough")
        headers = {**SAFE, "Content-Disposition": f'attachment; filename="{stored.name}"'}
        return Response(stored.content, headers=headers, media_type="application/octet-stream")


def detected(service: Service, text: str) -> Detected:
    """The likeliest source language of a text, with a confidence in percent."""
    code, confidence = identify(text, service.catalogue.sources())
    return {"confidence": round(100 * confidence, 1), "language": code}


def _texts(fields: Fields, service: Service) -> tuple[list[str], bool]:
    """The texts, and whether they came as a batch."""
    if "q" not in fields.values:
        raise RefusalError(400, "Invalid request: missing q parameter")
    values = fields.all("q")
    is_batch = len(values) > 1
    if fields.is_json and isinstance(values[0], list):
        values, is_batch = values[0], True
    return service.check_texts(values), is_batch


def _needed(fields: Fields, name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or not value:
        raise RefusalError(400, f"Invalid request: missing {name} parameter")
    return value


def _number(value: Any, name: str) -> int:
    if value in (None, ""):
        return 0
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value[:9])
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_ALTERNATIVES:
        raise RefusalError(400, f"{name}: expected a number from 0 to {MAX_ALTERNATIVES}")
    return value


def _source(service: Service, fields: Fields, text: str) -> tuple[str, Detected | None]:
    """The source language of a text; if it is to be found, with its confidence."""
    language = _needed(fields, "source")
    if language == "auto":
        found = detected(service, text)
        return found["language"], found
    code = language_code(language)
    known = service.catalogue.languages()
    if code not in known:
        raise RefusalError(400, f"{language[:20]} is not supported")
    return code, None


def _check_target(service: Service, target: str) -> None:
    if target not in service.catalogue.languages():
        raise RefusalError(400, f"{target[:20]} is not supported")


async def _translate(
    service: Service, sources: Sequence[str], target: str, texts: Sequence[str], kind: str, alternatives: int
) -> list[tuple[str, list[str]]]:
    """Each text's translation and others; texts that are in the language already stay.

    Texts of one language are one call, which is a document to the batch if they are many.
    """
    found: list[tuple[str, list[str]]] = [(text, []) for text in texts]
    most = alternatives if kind == "text" else 0
    read = html if kind == "html" else plain
    for source in dict.fromkeys(sources):
        if source == target:
            continue
        chosen = [index for index, each in enumerate(sources) if each == source]
        served = service.catalogue.find(source, target)
        parts = [read(texts[index], source) for index in chosen]
        translated = await translate_texts(service, served, parts, n_best=1 + most)
        for index, each in zip(chosen, translated, strict=True):
            found[index] = (each.text, each.others(most))
    return found
