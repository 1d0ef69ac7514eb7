"""Texts of any length and documents, translated sentence by sentence."""

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from starlette.responses import Response

from translate.serve.catalogue import Served
from translate.serve.documents import FORMATS, Document, Segmented, read, read_html, read_tagged
from translate.serve.service import Service, context_of, refusing
from translate.serve.store import new_name
from translate.serve.web.requests import RefusalError, Upload
from translate.text.glossary import Terms
from translate.text.markup import find_markup
from translate.text.sentences import split
from translate.translation import TranslateOptions, Translation

SAFE = {  # a browser shows no file of a client as a page of this server
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
}


Part = Segmented | Document


def whole(text: str) -> Segmented:
    """The text as one sentence, with the white space around it."""
    return Segmented(text, ((0, len(text)),) if text else ())


def in_sentences(text: str, language: str) -> Segmented:
    """The sentences of each line, by the rules of a language."""
    lines = re.finditer(r"[^\n]+", text)
    spans = [(line.start() + a, line.start() + b) for line in lines for a, b in split(line[0], language)]
    return Segmented(text, tuple(spans))


@dataclass(frozen=True)
class Translated:
    """The translations of a part's sentences."""

    part: Part
    results: Sequence[Translation]

    @property
    def text(self) -> str:
        """The whole translation, with all that stands between the sentences."""
        return self.part.write([result.text for result in self.results]).decode()

    def others(self, most: int) -> list[str]:
        """Other translations: the second of each sentence, the third, and so on; without repetitions."""
        found: dict[str, None] = {self.text: None}
        longest = max((len(result.n_best) for result in self.results), default=0)
        for rank in range(1, min(most + 1, longest)):
            texts = [result.n_best[min(rank, len(result.n_best) - 1)].text for result in self.results]
            found[self.part.write(texts).decode()] = None
        return list(found)[1:]


async def translate_parts(
    service: Service,
    parts: Sequence[Part],
    sources: Sequence[str],
    target: str,
    *,
    n_best: int = 1,
    terms: Terms | None = None,
) -> list[Translated]:
    """The translations of texts; the sentences of those from one language all run side by side.

    Args:
        service: the server.
        parts: plain texts, or documents with markup, but not both.
        sources: the language of each of them.
        target: the language of the translations.
        n_best: texts of each sentence; at most those that the run's beam gives.
        terms: those of a glossary.
    """
    found: dict[int, Translated] = {}
    for source in dict.fromkeys(sources):
        served = service.catalogue.find(source, target)
        own = {index: parts[index] for index, language in enumerate(sources) if language == source}
        sentences = [sentence for part in own.values() for sentence in part.sentences]
        options = TranslateOptions(
            n_best=min(n_best, served.translator.search.beam_size),
            glossary=terms,
            markup=any(map(find_markup, sentences)),
            context=context_of(served, (part.sentences for part in own.values())),
        )
        call = await service.begin(served, sentences, options)
        results = iter(await service.search(served, call))
        for index, part in own.items():
            found[index] = Translated(part, [next(results) for _ in part.sentences])
    return [found[index] for index in range(len(parts))]


def read_text(read: Callable[[], Document]) -> Document:
    """A text of a request as a document.

    Raises:
        RefusalError: if it is damaged, or has too many sentences.
    """
    with refusing():
        document = read()
        _ = document.sentences
    return document


def read_part(text: str, language: str, tags: str | None, ignored: Sequence[str] = ()) -> Part:
    """A text of a request: plain, or with the tags of html or xml."""
    if tags == "html":
        return read_text(lambda: replace(read_html(text.encode(), "the text"), language=language))
    if tags == "xml":
        return read_text(lambda: replace(read_tagged(text, ignored), language=language))
    return in_sentences(text, language)


async def read_file(
    service: Service, upload: Upload | None, source: str, target: str
) -> tuple[Document, str]:
    """The document of a file, with its sentences, and a name for its translation.

    Raises:
        RefusalError: if there is none, it is damaged, or larger than the limits.
    """
    if upload is None:
        raise RefusalError(400, f"there is no file; expected one of {', '.join(FORMATS)}")
    document = await asyncio.to_thread(read_text, lambda: read(upload.name, upload.content, source, target))
    service.check_size(sum(map(len, document.sentences)), service.limits.file)
    return document, new_name(upload.name.rpartition(".")[2])


def file_response(name: str, content: bytes) -> Response:
    """A translated file, which a browser saves."""
    headers = {**SAFE, "Content-Disposition": f'attachment; filename="translated.{name.rpartition(".")[2]}"'}
    return Response(content, headers=headers, media_type="application/octet-stream")


async def translate_file(
    service: Service, served: Served, document: Document, terms: Terms | None = None
) -> bytes:
    """The document with the translations of its sentences."""
    (found,) = await translate_parts(service, [document], [served.source], served.target, terms=terms)
    return await asyncio.to_thread(document.write, [result.text for result in found.results])
