"""HTML: the text of blocks, with inline elements carried over; all else stays as it is, byte for byte."""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from translate.serve.documents.document import Document, Spans, decode
from translate.serve.documents.inline import Tag, Token

# Every quantifier is possessive or ends at a character that the next one excludes: the time is linear.
_TAG = re.compile(r"<(/?)([A-Za-z][^\s/<>]*+)((?:[^<>\"']++|\"[^\"]*+\"|'[^']*+')*+)>")
_KEEP = re.compile(r"\btranslate\s*=\s*[\"']?no\b|\bclass\s*=\s*[\"']?[^\"'>]*\bnotranslate\b", re.IGNORECASE)
_CHARSET = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([\w-]{1,40})", re.IGNORECASE)
_INLINE = frozenset(
    re.findall(
        r"\w+",
        "a abbr acronym b bdi bdo big cite del dfn em font i ins label mark q s small span strike strong sub "
        "sup time tt u",
    )
)
_ALONE = frozenset(("img", "input", "wbr", "!--"))  # inline, without content; comments
_VOID = _ALONE | {"area", "base", "br", "col", "embed", "hr", "link", "meta", "param", "source", "track"}
_RAW = frozenset(("script", "style", "textarea", "xmp", "iframe", "noembed", "noframes"))  # no tags inside
_INLINE_KEPT = frozenset(("code", "kbd", "samp", "var"))  # their content is not translated
_KEPT = _INLINE_KEPT | {"pre", "svg", "math"}


@dataclass
class _Piece:
    """A tag, a comment or a text of the page."""

    start: int
    end: int
    kind: str  # text, start, end, other
    name: str = ""
    keep: bool = False  # the element is not translated
    partner: int | None = None


def read_html(content: bytes, name: str, language: str = "") -> Document:
    """The text of an HTML page or of a part of one.

    Not translated: scripts, styles, comments, code, attributes, and elements with ``translate="no"`` or the
    class ``notranslate``.
    """
    declared = _CHARSET.search(content[:1024])
    default = declared[1].decode("ascii").lower() if declared else "utf-8"
    text, encoding = decode(content, name, _known(default))
    spans = Spans(text, encoding)
    pieces = _pieces(text)
    _pair(pieces)
    runs: list[list[Token]] = []
    for first, last in _inline_runs(pieces):
        tokens = _tokens(text, pieces, first, last)
        if any(isinstance(token, str) and any(map(str.isalpha, token)) for token in tokens):
            runs.append(tokens)
            spans.spans.append((pieces[first].start, pieces[last - 1].end))

    def render(written: list[list[Token]]) -> bytes:
        parts = ["".join(_shown(token, text, pieces) for token in run) for run in written]
        return spans.replace(parts, "xmlcharrefreplace")

    return Document(runs, render, language)


def _known(encoding: str) -> str:
    """An encoding of text in bytes; other codecs of Python, which decompress or escape, are none."""
    is_known = re.fullmatch(r"(iso-8859|windows|koi8|utf)-?\w+|us-ascii|latin1", encoding)
    return encoding if is_known else "utf-8"


def _pieces(text: str) -> list[_Piece]:
    """The page in order, without gaps."""
    found: list[_Piece] = []
    end = at = 0
    while (at := text.find("<", at)) >= 0:
        piece = _piece(text, at)
        if piece is None:  # a character of the text
            at += 1
            continue
        if at > end:
            found.append(_Piece(end, at, "text"))
        found.append(piece)
        end = at = piece.end
    if end < len(text):
        found.append(_Piece(end, len(text), "text"))
    return found


def _piece(text: str, at: int) -> _Piece | None:
    """The tag or comment that begins at a place, with its content if that has no tags."""
    for opening, closing in (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<!", ">"), ("<?", ">")):
        if text.startswith(opening, at):
            end = text.find(closing, at + len(opening))
            return _Piece(at, len(text) if end < 0 else end + len(closing), "other", opening[1:])
    match = _TAG.match(text, at)
    if match is None:
        return None
    name, rest = match[2].lower(), match[3]
    if match[1]:
        return _Piece(at, match.end(), "end", name)
    if name in _RAW:
        close = re.compile(rf"</{name}\b[^<>]*>", re.IGNORECASE).search(text, match.end())
        return _Piece(at, close.end() if close else len(text), "other", name)
    if name in _VOID or rest.endswith("/"):
        return _Piece(at, match.end(), "other", name)
    return _Piece(at, match.end(), "start", name, name in _KEPT or _KEEP.search(rest[:2000]) is not None)


def _pair(pieces: Sequence[_Piece]) -> None:
    """Pair each end tag with the last open start tag of its name."""
    path: list[int] = []
    depths: dict[str, list[int]] = {}
    for index, piece in enumerate(pieces):
        if piece.kind == "start":
            depths.setdefault(piece.name, []).append(len(path))
            path.append(index)
        elif piece.kind == "end" and depths.get(piece.name):
            depth = depths[piece.name][-1]
            piece.partner, pieces[path[depth]].partner = path[depth], index
            for left in path[depth:]:
                depths[pieces[left].name].pop()
            del path[depth:]


def _inline_runs(pieces: Sequence[_Piece]) -> list[tuple[int, int]]:
    """(first, behind the last) piece of each stretch of text and inline elements."""
    inline: list[bool] = []
    for index, piece in enumerate(pieces):
        if index < len(inline):  # inside an element that is kept as it is
            continue
        if piece.keep and piece.partner is not None:
            inline += [piece.name in _INLINE_KEPT | _INLINE] * (piece.partner + 1 - index)
        else:
            inline.append(_may_be_inline(piece))
    blocks = [0, *accumulate(not own for own in inline)]
    for index, piece in enumerate(pieces):
        if piece.kind == "start" and inline[index] and piece.partner is not None:
            # An element around a block is no inline element.
            inline[index] = inline[piece.partner] = blocks[index] == blocks[piece.partner]
    return _stretches(inline)


def _may_be_inline(piece: _Piece) -> bool:
    if piece.kind in ("start", "end"):
        return piece.name in _INLINE and piece.partner is not None
    return piece.kind == "text" or piece.name in _ALONE


def _stretches(inline: Sequence[bool]) -> list[tuple[int, int]]:
    found, start = [], None
    for index, own in enumerate([*inline, False]):
        if own and start is None:
            start = index
        elif not own and start is not None:
            found.append((start, index))
            start = None
    return found


def _tokens(text: str, pieces: Sequence[_Piece], first: int, last: int) -> list[Token]:
    tokens: list[Token] = []
    index = first
    while index < last:
        piece = pieces[index]
        if piece.kind == "text":
            tokens.append(html.unescape(text[piece.start : piece.end]))
        elif piece.keep and piece.partner is not None:
            tokens.append(Tag("alone", index))
            index = piece.partner
        elif piece.kind == "start":
            tokens.append(Tag("start", index))
        elif piece.kind == "end":
            assert piece.partner is not None
            tokens.append(Tag("end", piece.partner))
        else:
            tokens.append(Tag("alone", index))
        index += 1
    return tokens


def _shown(token: Token, text: str, pieces: Sequence[_Piece]) -> str:
    if isinstance(token, str):
        return html.escape(token, quote=False).replace("\xa0", "&nbsp;")
    piece: Any = pieces[token.number]
    if token.kind == "end":
        piece = pieces[piece.partner]
    elif token.kind == "alone" and piece.keep:
        return text[piece.start : pieces[piece.partner].end]
    return text[piece.start : piece.end]
