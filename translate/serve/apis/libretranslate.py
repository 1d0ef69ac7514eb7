"""The interface of LibreTranslate, so that its clients work unchanged."""

from typing import Annotated, Any, Literal

from pydantic import Field
from starlette.responses import Response

from translate.serve.catalogue import Code
from translate.serve.documents import FORMATS
from translate.serve.service import Service
from translate.serve.texts import file_response, read_file, read_part, translate_file, translate_parts
from translate.serve.web.endpoint import Api, Asked, Operation, json_response
from translate.serve.web.requests import FormBody, RefusalError, Texts, Upload, checked
from translate.text.languages import identify, language_name


class DetectRequest(FormBody):
    """The body of ``POST /detect``."""

    q: Texts


class LibreRequest(DetectRequest):
    """The body of ``POST /translate``."""

    source: Annotated[Code, Field(description="code of the language, or auto")]
    target: Code
    format: Annotated[Literal["text", "html"], Field(description="html keeps its tags")] = "text"
    alternatives: Annotated[int, Field(ge=0, le=16, description="other translations of plain text")] = 0


class LibreFile(FormBody):
    """The body of ``POST /translate_file``."""

    source: Code
    target: Code
    file: Upload | None = None


async def _translate(asked: Asked) -> Response:
    """Translates a text or a batch: translatedText, detectedLanguage for auto, alternatives."""
    fields, service = await asked.fields(), asked.service
    body = checked(LibreRequest, fields)
    texts, target = service.check_texts(body.q), body.target
    sources = [_source(service, body.source, text) for text in texts]
    if target not in service.catalogue.languages():
        service.catalogue.find(None, target)  # refuses it, and lists those that there are

    others = 0 if body.format == "html" else body.alternatives
    # A text that is in the target language already stays.
    chosen = [index for index, (code, _) in enumerate(sources) if code != target]
    codes = [sources[index][0] for index in chosen]
    parts = [read_part(texts[index], sources[index][0], body.format) for index in chosen]
    translated = await translate_parts(service, parts, codes, target, n_best=1 + others)
    found = {index: (text, list[str]()) for index, text in enumerate(texts)}
    found |= {index: (part.text, part.others(others)) for index, part in zip(chosen, translated, strict=True)}
    asked.noted["texts"] = len(texts)
    answer: dict[str, Any] = {"translatedText": [text for text, _ in found.values()]}
    if sources and sources[0][1] is not None:
        answer["detectedLanguage"] = [detected for _, detected in sources]
    if body.alternatives:
        answer["alternatives"] = [more for _, more in found.values()]
    if not isinstance(fields["q"], list):
        answer = {name: values[0] for name, values in answer.items()}
    return json_response(answer)


async def _detect(asked: Asked) -> Response:
    """Identifies the language of a text, with a confidence in percent."""
    fields, service = await asked.fields(), asked.service
    found = [[_detected(service, text)] for text in service.check_texts(checked(DetectRequest, fields).q)]
    return json_response(found if isinstance(fields["q"], list) else found[0])


async def _languages(asked: Asked) -> Response:
    """Lists the languages, also those that are only a target, since clients look for theirs among all."""
    catalogue = asked.service.catalogue
    return json_response(
        [
            {"code": code, "name": language_name(code), "targets": [code, *catalogue.targets(code)]}
            for code in catalogue.languages()
        ]
    )


async def _settings(asked: Asked) -> Response:
    """Tells the limits, the formats of files, and whether a key is needed."""
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


async def _translate_file(asked: Asked) -> Response:
    """Translates a file and says where it is to be fetched."""
    body, service = checked(LibreFile, await asked.fields()), asked.service
    known = "" if body.source == "auto" else body.source
    document, name = await read_file(service, body.file, known, body.target)
    source, _ = _source(service, body.source, " ".join(document.sentences[:20]))
    served = service.catalogue.find(source, body.target)
    asked.noted |= {"model": served.name, "sentences": len(document.sentences)}
    content = await translate_file(service, served, document)
    service.documents.put(name, {"status": "done"}, content)
    url = asked.request.base_url.replace(path=f"/download_file/{name}")
    return json_response({"translatedFileUrl": str(url)})


async def _download(asked: Asked) -> Response:
    """Fetches a translated file, for 15 minutes."""
    name = asked.request.path_params["name"]  # is looked up, and is no path
    stored = asked.service.documents.get(name)
    if stored is None or stored[0]["status"] != "done":
        raise RefusalError(404, "there is no such file, or it was kept long enough")
    return file_response(name, stored[1])


def _detected(service: Service, text: str) -> dict[str, Any]:
    """The likeliest language of a text among all of the models, with a confidence in percent."""
    code, confidence = identify(text, service.catalogue.languages())
    return {"confidence": round(100 * confidence, 1), "language": code}


def _source(service: Service, code: str, text: str) -> tuple[str, dict[str, Any] | None]:
    """The source language of a text; with its confidence if it was to be identified."""
    if code == "auto":
        found = _detected(service, text)
        return found["language"], found
    if code not in service.catalogue.languages():
        service.catalogue.find(code, None)  # refuses it
    return code, None


def _refuse(refusal: RefusalError) -> Response:
    status = 400 if refusal.status in (413, 415) else refusal.status
    return json_response({"error": refusal.message}, status, refusal.headers)


LIBRETRANSLATE = Api(
    "LibreTranslate",
    (
        Operation("POST", "/translate", _translate, LibreRequest),
        Operation("POST", "/detect", _detect, DetectRequest),
        # A client learns from these two whether it needs a key.
        Operation("GET", "/languages", _languages, keyless=True),
        Operation("GET", "/frontend/settings", _settings, keyless=True),
        Operation("POST", "/translate_file", _translate_file, files=True),
        # Nobody guesses the name.
        Operation("GET", "/download_file/{name}", _download, keyless=True),
    ),
    _refuse,
    key_fields=("api_key", "apiKey"),  # as one client writes it
)
