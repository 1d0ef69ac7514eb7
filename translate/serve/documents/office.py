"""DOCX and ODT: the text of paragraphs, with its formats; all else stays as it is."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from itertools import groupby
from typing import Any

from translate.errors import UserError
from translate.serve.documents.document import Document, Tag, Token, document_of
from translate.serve.documents.xml import Archive, Mixed, Rules, parse_xml, write_xml, xml_text

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_DOCX_PART = re.compile(r"word/(?:document|header\d*|footer\d*|footnotes|endnotes|comments)\.xml")
_ODT_PART = re.compile(r"content\.xml|styles\.xml")
_WRAPPERS = frozenset(f"{_W}{name}" for name in ("hyperlink", "ins", "smartTag", "fldSimple", "moveTo"))
_DROPPED = frozenset(f"{_W}{name}" for name in ("proofErr", "lastRenderedPageBreak", "softHyphen"))
_RANGES = ("bookmark", "commentRange", "moveFromRange", "moveToRange")
_MARKS = frozenset(("del", "moveFrom", *(f"{name}{end}" for name in _RANGES for end in ("Start", "End"))))
_ALONE = frozenset(("footnoteReference", "endnoteReference", "commentReference", "drawing", "pict", "object"))
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_ODT = Rules(
    wrappers=frozenset((f"{_TEXT}span", f"{_TEXT}a")),
    breaks=frozenset((f"{_TEXT}tab", f"{_TEXT}line-break")),
    spaces=f"{_TEXT}s",
    count=f"{_TEXT}c",
)


def read_docx(content: bytes, name: str) -> Document:
    """The text of a Word document: body, tables, text boxes, headers, footers, notes and comments."""

    def paragraphs(root: Any) -> Iterator["_Paragraph"]:
        for element in root.iter(f"{_W}p", f"{_W}sdtContent"):
            if any(child.tag == f"{_W}r" or child.tag in _WRAPPERS for child in element):
                yield _Paragraph(element)

    return _read(content, name, "word/document.xml", _DOCX_PART, paragraphs)


def read_odt(content: bytes, name: str) -> Document:
    """The text of an OpenDocument text: body, tables, text boxes, notes, headers and footers."""

    def paragraphs(root: Any) -> Iterator[Mixed]:
        return (Mixed(element, _ODT) for element in root.iter(f"{_TEXT}p", f"{_TEXT}h"))

    return _read(content, name, "content.xml", _ODT_PART, paragraphs)


def _read(
    content: bytes, name: str, main: str, parts: re.Pattern[str], paragraphs: Callable[[Any], Iterator[Any]]
) -> Document:
    """The document of an archive, with ``main`` among its files."""
    archive = Archive(content, name)
    if main not in archive.files:
        raise UserError(f"{name}: no document of this kind: it lacks {main}")
    roots = {
        part: parse_xml(content, f"{archive.name}, {part}")
        for part, content in archive.files.items()
        if parts.fullmatch(part)
    }

    def save(_: list[None]) -> bytes:
        archive.files |= {part: write_xml(root) for part, root in roots.items()}
        return archive.write()

    return document_of((found for root in roots.values() for found in paragraphs(root)), save)


class _Paragraph:
    """The runs of a Word paragraph: a tag for every format but the most frequent, and for every link."""

    def __init__(self, element: Any) -> None:
        self.element = element
        self.held: list[Any] = []  # the wrapper, the format or the content of each tag
        self.plain = _most_frequent(element)
        self.tokens: list[Token] = []
        self._read(element)

    def _read(self, parent: Any) -> None:
        kept = [child for child in parent if child.tag not in _DROPPED and child.tag != f"{_W}pPr"]
        for key, children in groupby(kept, _key_of_run):
            if key is None:
                for child in children:
                    number = len(self.held)
                    if child.tag in _WRAPPERS:
                        self._add("start", child)
                        self._read(child)
                        self.tokens.append(Tag("end", number))
                    else:
                        self._add("alone" if _local(child) in _MARKS else "break", child)
                continue
            runs, number = list(children), len(self.held)
            if key != _key(self.plain):
                self._add("start", runs[0].find(f"{_W}rPr"))
            for run in runs:
                self._read_run(run)
            if key != _key(self.plain):
                self.tokens.append(Tag("end", number))

    def _read_run(self, run: Any) -> None:
        own = run.find(f"{_W}rPr")
        for child in run:
            if child.tag == f"{_W}t":
                self.tokens.append(child.text or "")
            elif child.tag == f"{_W}noBreakHyphen":
                self.tokens.append("\u2011")
            elif child is not own and child.tag not in _DROPPED:
                self._add("alone" if _local(child) in _ALONE else "break", (own, child))

    def _add(self, kind: Any, held: Any) -> None:
        self.tokens.append(Tag(kind, len(self.held)))
        self.held.append(held)

    def write(self, run: list[Token]) -> None:
        """Put the runs of a translation in place of the paragraph's own."""
        for child in list(self.element):
            if child.tag != f"{_W}pPr":
                self.element.remove(child)
        path: list[Any] = [(self.element, self.plain)]  # where runs go, and their format
        for token in run:
            parent, format_of_run = path[-1]
            if isinstance(token, str):
                _text(_new_run(parent, format_of_run), token)
            elif token.kind == "end":
                path.pop()
            elif token.kind == "start":
                path.append(self._begin(self.held[token.number], parent, format_of_run))
            elif isinstance(self.held[token.number], tuple):
                own, content = self.held[token.number]
                _new_run(parent, own).append(content)
            else:
                parent.append(self.held[token.number])

    def _begin(self, held: Any, parent: Any, format_of_run: Any) -> tuple[Any, Any]:
        if held is None or held.tag == f"{_W}rPr":
            return parent, held
        new = parent.makeelement(held.tag, dict(held.attrib), held.nsmap)
        parent.append(new)
        return new, format_of_run


def _most_frequent(element: Any) -> Any:
    """The format of most characters of a paragraph; ``None`` if that is none."""
    counts: Counter[bytes] = Counter()
    formats: dict[bytes, Any] = {}
    for run in element.iter(f"{_W}r"):
        key = _key(run.find(f"{_W}rPr"))
        formats.setdefault(key, run.find(f"{_W}rPr"))
        counts[key] += sum(len(text.text or "") for text in run.findall(f"{_W}t"))
    return formats[max(counts, key=counts.__getitem__)] if counts else None


def _key_of_run(child: Any) -> bytes | None:
    """Runs side by side of one key have one format; what is no run has none."""
    return _key(child.find(f"{_W}rPr")) if child.tag == f"{_W}r" else None


def _key(format_of_run: Any) -> bytes:
    """The visible part of a format: without its language and marks of the checker."""
    if format_of_run is None:
        return b""
    from lxml import etree

    ignored = ("lang", "noProof")
    seen = [child for child in format_of_run if _local(child) not in ignored]
    return b"".join(etree.tostring(child, method="c14n") for child in seen)


def _local(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]


def _new_run(parent: Any, format_of_run: Any) -> Any:
    run = parent.makeelement(f"{_W}r")
    if format_of_run is not None:
        run.append(deepcopy(format_of_run))
    parent.append(run)
    return run


def _text(run: Any, text: str) -> None:
    element = run.makeelement(f"{_W}t")
    element.text = xml_text(text)
    if text != text.strip():
        element.set(_SPACE, "preserve")
    run.append(element)
