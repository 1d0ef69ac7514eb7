"""A document: sentences to translate, and the document again with their translations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from translate.errors import UserError
from translate.serve.documents.inline import InlineSentence, Part, Token, cut, join

MAX_BYTES = 16 << 20  # of a document
MAX_SENTENCES = 20_000


@dataclass(frozen=True)
class Document:
    """The text of a file or a request, and the way back.

    Attributes:
        runs: the text of each paragraph, cell, heading, caption and so on, with its inline markup.
        render: the document, from the translated runs.
        language: of the text, a code; empty if unknown.
    """

    runs: Sequence[Sequence[Token]]
    render: Callable[[list[list[Token]]], bytes]
    language: str = ""

    @cached_property
    def _parts(self) -> list[list[Part]]:
        return [cut(run, self.language) for run in self.runs]

    @cached_property
    def sentences(self) -> list[str]:
        """The sentences to translate, with inline markup as tags: ``translate(sentences, markup=True)``.

        Raises:
            UserError: if there are more than ``MAX_SENTENCES``.
        """
        found = [part.text for parts in self._parts for part in parts if isinstance(part, InlineSentence)]
        if len(found) > MAX_SENTENCES:
            raise UserError(
                f"the document has {len(found):,} sentences; expected at most {MAX_SENTENCES:,}: split it"
            )
        return found

    def write(self, translations: Sequence[str]) -> bytes:
        """The document with a translation in place of each sentence; all else stays.

        Raises:
            ValueError: unless there are as many translations as sentences.
        """
        if len(translations) != len(self.sentences):
            raise ValueError(f"{len(translations)} translations for {len(self.sentences)} sentences")
        queue = iter(translations)
        runs = []
        for parts in self._parts:
            tokens: list[Token] = []
            for part in parts:
                if isinstance(part, InlineSentence):
                    tokens += part.tokens(next(queue))
                else:
                    tokens.append(part)
            runs.append(join(tokens))
        return self.render(runs)


def decode(content: bytes, name: str, default: str = "utf-8") -> tuple[str, str]:
    """The text of a file, and its encoding: of its byte order mark, or ``default``.

    Raises:
        UserError: if the bytes are not of that encoding.
    """
    marks = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
    encoding = next((code for mark, code in marks.items() if content.startswith(mark)), default)
    try:
        return content.decode(encoding), encoding
    except (UnicodeError, LookupError) as error:
        raise UserError(f"{name}: not {encoding}; convert the file to UTF-8") from error


class Spans:
    """Text with spans that will be replaced: the rest stays as it is, byte for byte."""

    def __init__(self, text: str, encoding: str) -> None:
        self.text, self.encoding = text, encoding
        self.spans: list[tuple[int, int]] = []

    def replace(self, written: Sequence[str], errors: str = "strict") -> bytes:
        """The text with ``written`` instead of the spans, in its encoding if that has all characters."""
        parts, end = [], 0
        for (start, stop), new in zip(self.spans, written, strict=True):
            parts += [self.text[end:start], new]
            end = stop
        text = "".join([*parts, self.text[end:]])
        return text.encode(self.encoding, errors)
