"""HTML pages, and texts with XML tags: what is no text stays as it is, character for character."""

import html
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby

from translate.serve.documents.document import Document, Placed, TaggedText, decode, spanned
from translate.text.markup import pair_tags

# Every quantifier is possessive or ends at a character that the next one excludes: the time is linear.
_TAG = re.compile(r"<(/?)([A-Za-z_][^\s/<>]*+)((?:[^<>\"']++|\"[^\"]*+\"|'[^']*')*+)>")
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
_OTHER = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<!", ">"), ("<?", ">"))


@dataclass
class _Piece:
    """A tag, a comment or a text."""

    start: int
    end: int
    kind: str  # text, start, end, other
    name: str = ""
    keep: bool = False  # the element is not translated
    partner: int | None = None


def read_html(content: bytes, name: str) -> Document:
    """The text of an HTML page or of a part of one.

    Not translated: scripts, styles, comments, code, attributes, and elements with ``translate="no"`` or the
    class ``notranslate``.
    """
    declared = _CHARSET.search(content[:1024])
    default = declared[1].decode("ascii").lower() if declared else "utf-8"
    text, encoding = decode(content, name, _known(default))
    pieces = _pieces(text, is_html=True)
    parts = _parts(text, pieces, _inline_runs(pieces), space="&nbsp;")
    return spanned(text, parts, lambda written: written.encode(encoding, "xmlcharrefreplace"))


def read_tagged(text: str, ignored: Collection[str] = ()) -> Document:
    """A text with XML tags; what is no tag, or is in an element that is ignored, stays as it is."""
    pieces = _pieces(text, is_html=False)
    names = {name.lower() for name in ignored}
    for piece in pieces:
        piece.keep = piece.kind == "start" and piece.name in names
    parts = _parts(text, pieces, _split_runs(text, pieces), space="\xa0")
    return spanned(text, parts, str.encode)


def _known(encoding: str) -> str:
    """The encoding of a page that declares one; UTF-8 also for UTF-16, as HTML says, and for unknown ones.

    Other codecs of Python, which decompress or escape, are unknown.
    """
    is_known = re.fullmatch(r"(iso-8859|windows|koi8)-?\w+|us-ascii|latin1", encoding)
    return encoding if is_known else "utf-8"


def _pieces(text: str, *, is_html: bool) -> list[_Piece]:
    """The text in order, without gaps."""
    found: list[_Piece] = []
    missing: set[str] = set()  # ends of comments that the rest of the text does not have
    end = at = 0
    while (at := text.find("<", at)) >= 0:
        piece = _piece(text, at, missing, is_html=is_html)
        if piece is None:  # a character of the text
            at += 1
            continue
        if at > end:
            found.append(_Piece(end, at, "text"))
        found.append(piece)
        end = at = piece.end
    if end < len(text):
        found.append(_Piece(end, len(text), "text"))
    for index, partner in pair_tags((piece.kind, piece.name) for piece in found).items():
        found[index].partner = partner
    return found


def _piece(text: str, at: int, missing: set[str], *, is_html: bool) -> _Piece | None:
    """The tag or comment that begins at a place, with its content if that has no tags."""
    for opening, closing in _OTHER:
        if text.startswith(opening, at):
            end = -1 if closing in missing else text.find(closing, at + len(opening))
            if end < 0 and not is_html:  # without an end it is text
                missing.add(closing)
                return None
            return _Piece(at, len(text) if end < 0 else end + len(closing), "other", opening[1:])
    match = _TAG.match(text, at)
    if match is None:
        return None
    name, rest = match[2].lower(), match[3]
    if match[1]:
        return _Piece(at, match.end(), "end", name)
    if is_html and name in _RAW:
        close = re.compile(rf"</{name}\b[^<>]*>", re.IGNORECASE).search(text, match.end())
        return _Piece(at, close.end() if close else len(text), "other", name)
    if rest.endswith("/") or (is_html and name in _VOID):
        return _Piece(at, match.end(), "other", name)
    keep = is_html and (name in _KEPT or _KEEP.search(rest[:2000]) is not None)
    return _Piece(at, match.end(), "start", name, keep)


def _inline_runs(pieces: Sequence[_Piece]) -> list[tuple[int, int]]:
    """(first, behind the last) piece of each stretch of text and inline elements of HTML."""
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


def _split_runs(text: str, pieces: Sequence[_Piece]) -> list[tuple[int, int]]:
    """(first, behind the last) piece of each stretch; elements that are not among text split."""
    parents: list[int | None] = []
    with_text: set[int | None] = set()  # elements with text that is not in others
    path: list[int] = []
    kept = -1  # the end of an element that is not translated
    splits: list[bool] = []  # may each piece split?
    for index, piece in enumerate(pieces):
        is_paired = piece.partner is not None
        if piece.kind == "end" and is_paired:
            path.pop()
        parents.append(path[-1] if path else None)
        splits.append(is_paired and index > kept and not piece.keep)
        if piece.kind == "text" and text[piece.start : piece.end].strip():
            with_text.add(parents[-1])
        if piece.keep and piece.partner is not None:
            kept = max(kept, piece.partner)
        if piece.kind == "start" and is_paired:
            path.append(index)
    return _stretches(
        [not (own and parent not in with_text) for own, parent in zip(splits, parents, strict=True)]
    )


def _stretches(inside: Sequence[bool]) -> list[tuple[int, int]]:
    found, end = [], 0
    for own, group in groupby(inside):
        start, end = end, end + len(list(group))
        if own:
            found.append((start, end))
    return found


def _parts(
    text: str, pieces: Sequence[_Piece], stretches: Iterable[tuple[int, int]], space: str
) -> Iterator[Placed]:
    """Each stretch of pieces, with its place; ``space`` is how a no-break space is written."""
    for first, last in stretches:
        run = TaggedText(lambda plain: html.escape(plain, quote=False).replace("\xa0", space))
        index = first
        while index < last:
            piece, partner = pieces[index], pieces[index].partner
            raw = text[piece.start : piece.end]
            if piece.kind == "text":
                run.add(html.unescape(raw))
            elif piece.keep and partner is not None:
                run.add_tag("alone", index, text[piece.start : pieces[partner].end])
                index = partner
            elif piece.kind == "start" and partner is not None and partner < last:
                run.add_tag("start", index, raw)
            elif piece.kind == "end" and partner is not None and partner >= first:
                run.add_tag("end", partner, raw)
            else:  # its partner is in another stretch
                run.add_tag("alone", index, raw)
            index += 1
        yield (pieces[first].start, pieces[last - 1].end), run
