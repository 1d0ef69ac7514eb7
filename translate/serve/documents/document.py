"""A document: runs of text with inline markup, their sentences, and the document again with translations.

A sentence names its markup ``<g3>..</g3>`` and ``<x4/>``, whatever it is in the document. Markup at the edge
of a sentence stays outside of it. An element that begins in one sentence and ends in another is cut in two,
and made whole again where the parts meet.
"""

import re
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, Literal, NamedTuple

from translate.errors import UserError
from translate.text.lines import TO_UTF_8
from translate.text.markup import find_markup, pair_tags
from translate.text.sentences import split

Kind = Literal["start", "end", "alone", "break"]
_OURS = re.compile(r"<(/?)g(\d{1,9})>|<x(\d{1,9})/>")
_SPACE = re.compile(r"[ \t\r\n\f]+")  # a no-break space is text
MAX_BYTES = 16 << 20  # of a document
MAX_SENTENCES = 20_000
_LITERAL = 1_000_000  # numbers from here on are text that looks like markup


class Tag(NamedTuple):
    """Markup of a document. A break is an item that no sentence contains, such as a line break."""

    kind: Kind
    number: int  # that start and end of an element share


Token = str | Tag


def has_letters(tokens: Sequence[Token]) -> bool:
    """Whether there is anything to translate."""
    return any(isinstance(token, str) and any(map(str.isalpha, token)) for token in tokens)


class TaggedText:
    """The tokens of a text, with the text of its tags.

    Args:
        escape: writes text that is no tag.
    """

    def __init__(self, escape: Callable[[str], str] = str) -> None:
        self.raw: dict[Tag, str] = {}
        self.tokens: list[Token] = []
        self.escape = escape

    def add(self, text: str) -> None:
        """Add text that is no tag."""
        self.tokens.append(text)

    def add_tag(self, kind: Kind, number: int, raw: str) -> None:
        """Add a tag, which ``raw`` stands for."""
        self.tokens.append(Tag(kind, number))
        self.raw[Tag(kind, number)] = raw

    def add_matches(
        self, text: str, matches: Sequence[re.Match[str]], names: Sequence[tuple[str, str]]
    ) -> None:
        """Add a text with its tags, which number themselves; a tag without its partner is an item.

        Args:
            text: the text.
            matches: its tags, in order.
            names: the kind and the name of each tag, as :func:`pair_tags` takes them.
        """
        partners, first, end = pair_tags(names), len(self.raw), 0
        for index, (match, (kind, _)) in enumerate(zip(matches, names, strict=True)):
            self.add(text[end : match.start()])
            end = match.end()
            number = first + min(index, partners.get(index, index))
            own: Kind = "alone" if index not in partners else "start" if kind == "start" else "end"
            self.add_tag(own, number, match[0])
        self.add(text[end:])

    def write(self, run: Sequence[Token]) -> str:
        """The text of a run."""
        return "".join(self.raw[token] if isinstance(token, Tag) else self.escape(token) for token in run)


Placed = tuple[tuple[int, int], TaggedText]  # a part of a longer text, and its place


@dataclass(frozen=True)
class InlineSentence:
    """A sentence of a run: its text with our tags, and the literal text that some of them stand for."""

    text: str
    tags: tuple[Tag, ...]
    literals: tuple[str, ...]

    def tokens(self, translation: str) -> list[Token]:
        """The translation as tokens; if it lost or crossed tags, they all follow its text."""
        found = list(_parse(translation))
        tags = [token for token in found if isinstance(token, Tag)]
        if Counter(tags) != Counter(self.tags) or not _is_nested(tags):
            found = [token for token in found if isinstance(token, str)] + list(self.tags)
        return [
            self.literals[token.number - _LITERAL]
            if isinstance(token, Tag) and token.number >= _LITERAL
            else token
            for token in found
        ]


Part = Token | InlineSentence


def cut(tokens: Sequence[Token], language: str) -> list[Part]:
    """The sentences of a run, and the tokens around them. Elements must be nested."""
    parts: list[Part] = []
    open_tags: list[int] = []
    for is_sentence, section in _sections(tokens, language):
        before, kept = list(open_tags), len(open_tags)
        for token in section:
            if isinstance(token, Tag) and token.kind == "start":
                open_tags.append(token.number)
            elif isinstance(token, Tag) and token.kind == "end":
                open_tags.pop()
                kept = min(kept, len(open_tags))
        if not (is_sentence and has_letters(section)):
            parts += section
            continue
        # Elements that cross a border of the sentence are cut there, so that it has both of their tags.
        begun = [Tag("start", number) for number in before[kept:]]
        ended = [Tag("end", number) for number in reversed(open_tags[kept:])]
        parts += [Tag("end", number) for number in reversed(before[kept:])]
        parts.append(_sentence([*begun, *section, *ended]))
        parts += [Tag("start", number) for number in open_tags[kept:]]
    return parts


def _sections(tokens: Sequence[Token], language: str) -> Iterator[tuple[bool, list[Token]]]:
    """The tokens of each sentence (True), and of what is before, between and behind them (False)."""
    left = deque(_merged(tokens))
    begin = place = 0  # of the first token that is left, and of what is left of it

    def take(stop: int, *, with_tags: bool) -> list[Token]:
        """Take the tokens up to a place in the text, with or without the tags that stand there."""
        nonlocal begin, place
        taken: list[Token] = []
        while left and (place < stop or (with_tags and isinstance(left[0], Tag))):
            token = left[0]
            if isinstance(token, str):
                taken.append(token[place - begin : stop - begin])
                place += len(taken[-1])
                if place < begin + len(token):
                    break
                begin = place
            else:
                taken.append(token)
            left.popleft()
        return taken

    for start, stop in _spans(left, language):
        yield False, take(start, with_tags=True)
        yield True, take(stop, with_tags=False)
    yield False, take(sys.maxsize, with_tags=True)


def _spans(tokens: Iterable[Token], language: str) -> list[tuple[int, int]]:
    """The sentences of the text, which a break ends."""
    found: list[tuple[int, int]] = []
    text, start = "", 0
    for token in [*tokens, Tag("break", 0)]:
        if isinstance(token, str):
            text += _SPACE.sub(lambda match: " " * len(match[0]), token)
        elif token.kind == "break":
            found += [(start + first, start + last) for first, last in split(text, language)]
            text, start = "", start + len(text)
    return found


def _sentence(tokens: Sequence[Token]) -> InlineSentence:
    """The sentence with our tags, also for text that looks like a tag."""
    literals: list[str] = []
    ours: list[Tag] = []
    parts: list[str] = []
    for token in tokens:
        if isinstance(token, Tag):
            ours.append(token)
            parts.append(_name(token))
            continue
        plain, end = _SPACE.sub(" ", token), 0
        for found in (match for match in find_markup(plain) if match["tag"]):
            ours.append(Tag("alone", _LITERAL + len(literals)))
            literals.append(found[0])
            parts += [plain[end : found.start()], _name(ours[-1])]
            end = found.end()
        parts.append(plain[end:])
    return InlineSentence("".join(parts), tuple(ours), tuple(literals))


def join(parts: Sequence[Token]) -> list[Token]:
    """Tokens in which elements that were cut are whole again where their parts meet."""
    pieces = Counter(part.number for part in parts if isinstance(part, Tag) and part.kind == "start")
    found: list[Token] = []
    for part in parts:
        if isinstance(part, Tag) and pieces[part.number] > 1:
            is_apart = part.kind == "start" and bool(found) and str(found[-1]).isspace()
            before = found[-2:-1] if is_apart else found[-1:]
            if before == [Tag("end" if part.kind == "start" else "start", part.number)]:
                del found[-2 if is_apart else -1]
                pieces[part.number] -= 1
                continue
        found.append(part)
    return _merged(found)


def _merged(tokens: Iterable[Token]) -> list[Token]:
    """The tokens, without empty texts or two texts side by side."""
    found: list[Token] = []
    for is_text, group in groupby(tokens, lambda token: isinstance(token, str)):
        part: list[Token] = list(group)
        if any(part):
            found += ["".join(map(str, part))] if is_text else part
    return found


def _name(tag: Tag) -> str:
    if tag.kind in ("start", "end"):
        return f"<{'/' if tag.kind == 'end' else ''}g{tag.number}>"
    return f"<x{tag.number}/>"


def _parse(text: str) -> list[Token]:
    found: list[Token] = []
    end = 0
    for match in _OURS.finditer(text):
        found.append(text[end : match.start()])
        slash, pair, alone = match.groups()
        found.append(Tag("alone", int(alone)) if alone else Tag("end" if slash else "start", int(pair)))
        end = match.end()
    return [token for token in [*found, text[end:]] if token]


def _is_nested(tags: Sequence[Tag]) -> bool:
    partners = pair_tags((tag.kind, str(tag.number)) for tag in tags)
    return len(partners) == sum(tag.kind in ("start", "end") for tag in tags)


@dataclass(frozen=True)
class Document:
    """The text of a file or a request, and the way back.

    Attributes:
        parts: paragraphs, cells, headings, captions and so on, each with its ``tokens``, the text with inline
            markup, and a method ``write`` for their translation.
        save: gives the document, from what ``write`` has returned for every part.
        language: of the text, a code; empty if unknown.
    """

    parts: Sequence[Any]
    save: Callable[[list[Any]], bytes]
    language: str = ""

    @cached_property
    def _cut(self) -> list[list[Part]]:
        found, count = [], 0
        for part in self.parts:
            found.append(cut(part.tokens, self.language))
            count += sum(isinstance(piece, InlineSentence) for piece in found[-1])
            if count > MAX_SENTENCES:
                raise UserError(f"the document has more than {MAX_SENTENCES:,} sentences; split it")
        return found

    @cached_property
    def sentences(self) -> list[str]:
        """The sentences to translate, with inline markup as tags: ``translate(sentences, markup=True)``.

        Raises:
            UserError: if there are more than ``MAX_SENTENCES``.
        """
        return [piece.text for pieces in self._cut for piece in pieces if isinstance(piece, InlineSentence)]

    def write(self, translations: Sequence[str]) -> bytes:
        """The document with a translation in place of each sentence; all else stays.

        Raises:
            ValueError: unless there are as many translations as sentences.
        """
        if len(translations) != len(self.sentences):
            raise ValueError(f"{len(translations)} translations for {len(self.sentences)} sentences")
        queue, written = iter(translations), []
        for part, pieces in zip(self.parts, self._cut, strict=True):
            tokens: list[Token] = []
            for piece in pieces:
                tokens += piece.tokens(next(queue)) if isinstance(piece, InlineSentence) else [piece]
            written.append(part.write(join(tokens)))
        return self.save(written)


@dataclass(frozen=True)
class Segmented:
    """A plain text, and the spans of its sentences, which are not blank, or of other parts to translate."""

    text: str
    spans: tuple[tuple[int, int], ...]

    @property
    def sentences(self) -> list[str]:
        """The text of each sentence."""
        return [self.text[start:end] for start, end in self.spans]

    def join(self, translations: Sequence[str]) -> tuple[str, list[int]]:
        """The translation, with the text between the spans as it is, and where each part begins."""
        parts, starts, end, length = [], [], 0, 0
        for (start, stop), translation in zip(self.spans, translations, strict=True):
            for part in (self.text[end:start], translation):
                parts.append(part)
                length += len(part)
            starts.append(length - len(translation))
            end = stop
        return "".join([*parts, self.text[end:]]), starts

    def write(self, translations: Sequence[str]) -> bytes:
        """The translation, as a document gives it."""
        return self.join(translations)[0].encode()


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
        raise UserError(f"{name}: not {encoding}; {TO_UTF_8}") from error


def document_of(parts: Iterable[Any], save: Callable[[list[Any]], bytes]) -> Document:
    """A document of parts, of which those without a letter stay as they are."""
    return Document([part for part in parts if has_letters(part.tokens)], save)


def spanned(text: str, parts: Iterable[Placed], save: Callable[[str], bytes]) -> Document:
    """A document of spans of a text; what is between them stays as it is, byte for byte."""
    found = [(span, part) for span, part in parts if has_letters(part.tokens)]
    frame = Segmented(text, tuple(span for span, _ in found))
    return Document([part for _, part in found], lambda written: save(frame.join(written)[0]))
