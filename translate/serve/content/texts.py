"""Texts of any length and kind, translated sentence by sentence, as clients of other services send them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from translate.alignment.alignment import Alignment
from translate.errors import UserError
from translate.serve.catalogue import Served
from translate.serve.content.segments import Segmented, whole
from translate.serve.content.segments import lines as split_lines
from translate.serve.content.segments import sentences as split_sentences
from translate.serve.documents import Document, read_html
from translate.serve.service import Service, Wish, context_of
from translate.serve.web.refusals import RefusalError
from translate.text.sentences import split
from translate.translation import Translation

Terms = Callable[[str], Sequence[str]]


@dataclass(frozen=True)
class TextPart:
    """A text of a request: plain, or a document with markup."""

    content: Segmented | Document

    @property
    def sentences(self) -> list[str]:
        """The sentences to translate."""
        return self.content.sentences

    def join(self, translations: Sequence[str]) -> str:
        """The text with the translations in place of its sentences."""
        if isinstance(self.content, Document):
            return self.content.write(translations).decode()
        return self.content.join(translations)[0]


@dataclass(frozen=True)
class Translated:
    """A text's translation."""

    part: TextPart
    results: Sequence[Translation]

    @property
    def text(self) -> str:
        """The whole."""
        return self.part.join([each.text for each in self.results])

    def others(self, most: int) -> list[str]:
        """Other translations: the second of each sentence, the third, and so on; without repetitions."""
        found: dict[str, None] = {self.text: None}
        longest = max((len(each.n_best) for each in self.results), default=0)
        for rank in range(1, min(most + 1, longest)):
            texts = [each.n_best[min(rank, len(each.n_best) - 1)].text for each in self.results]
            found[self.part.join(texts)] = None
        return list(found)[1:]

    def alignments(self) -> list[tuple[Alignment, int, int]]:
        """The alignment of each sentence of a plain text, and where it begins in source and target."""
        if isinstance(self.part.content, Document):
            return []
        _, starts = self.part.content.join([each.text for each in self.results])
        spans = self.part.content.spans
        return [
            (each.alignment, span[0], start)
            for each, span, start in zip(self.results, spans, starts, strict=True)
            if each.alignment is not None
        ]


def plain(text: str, language: str, how: str = "sentences") -> TextPart:
    """A plain text.

    Args:
        text: any.
        language: of its source.
        how: what is translated at a time: sentences, lines, or the whole.
    """
    if how == "sentences":
        return TextPart(split_sentences(text, lambda line: split(line, language)))
    return TextPart(split_lines(text) if how == "lines" else whole(text))


def html(text: str, language: str) -> TextPart:
    """A text with HTML; its markup is carried by the links.

    Raises:
        RefusalError: if it is damaged.
    """
    try:
        document = read_html(text.encode(), "the text", language)
        _ = document.sentences
        return TextPart(document)
    except UserError as error:
        raise RefusalError(400, str(error)) from error


async def translate_texts(
    service: Service,
    served: Served,
    parts: Sequence[TextPart],
    *,
    n_best: int = 1,
    alignments: bool = False,
    terms: Terms | None = None,
) -> list[Translated]:
    """The translations of texts, whose sentences all run side by side.

    Args:
        parts: plain ones, or ones with markup, but not both.
        n_best: texts of each sentence; at most those that the run's beam gives.
        alignments: whether sentences carry their alignments.
        terms: phrases that the translation of a sentence must contain.
    """
    sentences = [sentence for part in parts for sentence in part.sentences]
    markup = any(isinstance(part.content, Document) for part in parts)
    constraints = [list(terms(sentence)) for sentence in sentences] if terms is not None else None
    wish = Wish(
        n_best=min(n_best, served.translator.search.beam_size),
        alignments=alignments,
        constraints=constraints if constraints and any(constraints) else None,
        markup=markup,
        context=context_of(served, (part.sentences for part in parts)),
    )
    results, _ = await service.translate(served, sentences, wish)
    found, first = [], 0
    for part in parts:
        last = first + len(part.sentences)
        found.append(Translated(part, results[first:last]))
        first = last
    return found
