"""The interface of LibreTranslate, so that its clients work unchanged."""

from typing import Any

from starlette.responses import Response

from translate.serve.apis.own import OwnForm
from translate.serve.catalogue import language_code
from translate.serve.documents import FORMATS, read_html
from translate.serve.languages import identify, language_name
from translate.serve.service import Service
from translate.serve.store import new_name
from translate.serve.texts import SAFE, Part, in_sentences, read_file, read_text, translate_by_language
from translate.serve.texts import translate_file as translate_document
from translate.serve.web.endpoint import Asked, Operation, json_response
from translate.serve.web.requests import Fields, RefusalError

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
        return json_response({"error": refusal.message}, status, refusal.all_headers())


async def translate(asked: Asked) -> Response:
    """``POST /translate``; texts that are in the target language already stay."""
    fields, service = await asked.fields(), asked.service
    texts, is_batch = _texts(fields, service)
    kind = fields.get("format") or "text"
    if kind not in ("text", "html"):
        raise RefusalError(400, "format: expected text or html")
    alternatives = _number(fields.get("alternatives"), "alternatives")
    target = language_code(_needed(fields, "target"))
    sources = [_source(service, fields, text) for text in texts]
    if target not in service.catalogue.languages():
        raise RefusalError(400, f"{target[:20]} is not supported")

    def read(text: str, language: str) -> Part:
        if kind == "html":
            return read_text(lambda: read_html(text.encode(), "the text", language))
        return in_sentences(text, language)

    others = alternatives if kind == "text" else 0
    chosen = [index for index, (code, _) in enumerate(sources) if code != target]
    codes = [sources[index][0] for index in chosen]
    parts = [read(texts[index], code) for index, code in zip(chosen, codes, strict=True)]
    translated = await translate_by_language(service, parts, codes, target, n_best=1 + others)
    found = {index: (text, list[str]()) for index, text in enumerate(texts)}
    found |= {index: (part.text, part.others(others)) for index, part in zip(chosen, translated, strict=True)}
    asked.note(texts)
    answer: dict[str, Any] = {"translatedText": [text for text, _ in found.values()]}
    if sources and sources[0][1] is not None:
        answer["detectedLanguage"] = [detected for _, detected in sources]
    if alternatives:
        answer["alternatives"] = [more for _, more in found.values()]
    if not is_batch:
        answer = {name: values[0] for name, values in answer.items()}
    return json_response(answer)


async def detect(asked: Asked) -> Response:
    """``POST /detect``: the languages of a text, the likeliest first."""
    fields, service = await asked.fields(), asked.service
    texts, is_batch = _texts(fields, service)
    found = [[_detected(service, text)] for text in texts]
    return json_response(found if is_batch else found[0])


async def languages(asked: Asked) -> Response:
    """``GET /languages``: also those that are only a target, since clients look for theirs among all."""
    catalogue = asked.service.catalogue
    return json_response(
        [
            {"code": code, "name": language_name(code), "targets": [code, *catalogue.targets(code)]}
            for code in catalogue.languages()
        ]
    )


async def settings(asked: Asked) -> Response:
    """``GET /frontend/settings``: limits, formats, and whether a key is needed."""
    service = asked.service
    sides = {"source": service.catalogue.sources()[0], "target": service.catalogue.targets()[0]}
    return json_response(
        {
            "charLimit": service.limits.characters,
            "frontendTimeout": 500,
            "apiKeys": service.keys.needed,
            "keyRequired": service.keys.needed,
            "suggestions": False,
            "filesTranslation": True,
            "supportedFilesFormat": list(FORMATS),
            "language": {side: {"code": code, "name": language_name(code)} for side, code in sides.items()},
        }
    )


async def suggest(asked: Asked) -> Response:
    """``POST /suggest``: this server takes no suggestions."""
    raise RefusalError(403, "suggestions are turned off on this server")


async def translate_file(asked: Asked) -> Response:
    """``POST /translate_file``: translate a file and say where it is to be fetched."""
    fields, service = await asked.fields(), asked.service
    upload = fields.files.get("file")
    target, language = language_code(_needed(fields, "target")), _needed(fields, "source")
    document = await read_file(service, upload, "" if language == "auto" else language_code(language))
    source, _ = _source(service, fields, " ".join(document.sentences[:20]))
    served = service.catalogue.find(source, target)
    asked.noted |= {"model": served.name, "sentences": len(document.sentences)}
    content = await translate_document(service, served, document)
    assert upload is not None
    name = new_name(upload.name.rpartition(".")[2])
    service.documents.put(name, {"status": "done"}, content)
    return json_response(
        {"translatedFileUrl": str(asked.request.base_url.replace(path=f"/download_file/{name}"))}
    )


async def download(asked: Asked) -> Response:
    """``GET /download_file/...``: a translated file; its name is looked up, and is no path."""
    name = asked.request.path_params["name"]
    stored = asked.service.documents.get(name)
    if stored is None or stored[0]["status"] != "done":
        raise RefusalError(404, "there is no such file, or it was kept long enough")
    return file_response(name, stored[1])


def file_response(name: str, content: bytes) -> Response:
    """A translated file, which a browser saves."""
    shown = f"translated.{name.rpartition('.')[2]}"
    headers = {**SAFE, "Content-Disposition": f'attachment; filename="{shown}"'}
    return Response(content, headers=headers, media_type="application/octet-stream")


def _detected(service: Service, text: str) -> dict[str, Any]:
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


def _source(service: Service, fields: Fields, text: str) -> tuple[str, dict[str, Any] | None]:
    """The source language of a text; with its confidence if it was to be identified."""
    language = _needed(fields, "source")
    if language == "auto":
        found = _detected(service, text)
        return found["language"], found
    code = language_code(language)
    if code not in service.catalogue.languages():
        raise RefusalError(400, f"{language[:20]} is not supported")
    return code, None


OPERATIONS = (
    Operation(
        "POST",
        "/translate",
        translate,
        "Translates a text or a batch.",
        "translatedText; detectedLanguage for auto; alternatives",
    ),
    Operation("POST", "/detect", detect, "Identifies the language of a text.", "languages in percent"),
    # A client learns from these two whether it needs a key.
    Operation("GET", "/languages", languages, "Lists the languages.", "codes, names, targets", keyless=True),
    Operation("GET", "/frontend/settings", settings, "Tells the settings.", "limits, formats", keyless=True),
    Operation("POST", "/suggest", suggest, "Takes suggestions, which this server refuses.", "403"),
    Operation("POST", "/translate_file", translate_file, "Translates a file.", "its address", files=True),
    # Nobody guesses the name.
    Operation("GET", "/download_file/{name}", download, "Fetches it for 15 minutes.", "file", keyless=True),
)
