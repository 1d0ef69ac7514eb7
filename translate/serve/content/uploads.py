"""Files to translate, for every API."""

import asyncio

from translate.errors import UserError
from translate.serve.catalogue import Served
from translate.serve.content.store import StoredDocument
from translate.serve.content.texts import Terms, TextPart, translate_texts
from translate.serve.documents import FORMATS, read
from translate.serve.service import Service
from translate.serve.web.bodies import Upload
from translate.serve.web.refusals import RefusalError

SAFE = {  # a browser shows none of them as a page of this server
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
}


async def read_file(service: Service, upload: Upload | None, language: str) -> TextPart:
    """The document of a file, with its sentences.

    Raises:
        RefusalError: if there is none, it is damaged, or larger than the limits.
    """
    if upload is None:
        raise RefusalError(400, f"there is no file; expected one of {', '.join(FORMATS)}")

    def parse() -> TextPart:
        part = TextPart(read(upload.name, upload.content, language))
        service.check_size(sum(map(len, part.sentences)), service.limits.file)
        return part

    try:
        return await asyncio.to_thread(parse)
    except UserError as error:
        raise RefusalError(400, str(error)) from error


async def translate_file(
    service: Service, served: Served, part: TextPart, stored: StoredDocument, terms: Terms | None = None
) -> None:
    """Translate a document and keep what comes out; an error is kept, too."""
    try:
        (found,) = await translate_texts(service, served, [part], terms=terms)
        document = found.part.content
        texts = [each.text for each in found.results]
        stored.content = await asyncio.to_thread(document.write, texts)  # type: ignore[union-attr]
        stored.characters = sum(map(len, part.sentences))
        stored.status = "done"
    except RefusalError as error:
        stored.status, stored.message = "error", error.message
        raise
    except Exception:
        stored.status, stored.message = "error", "the server has failed"
        raise
