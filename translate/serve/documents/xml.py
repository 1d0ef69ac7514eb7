"""XML, and archives of it, that a stranger may have written: bounded, without entities; its mixed content."""

import io
import lzma
import re
import zipfile
import zlib
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any
from xml.parsers import expat

from translate.errors import UserError
from translate.serve.documents.document import Tag, Token, has_letters

MAX_FILES = 4096  # in an archive
MAX_UNPACKED = 64 << 20  # bytes of all its files
MAX_DEPTH = 200  # elements within elements
MAX_ELEMENTS = 2_000_000
_CHUNK = 1 << 16
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    OSError,
    EOFError,
    ValueError,
    NotImplementedError,
    RuntimeError,
)
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def parse_xml(content: bytes, name: str) -> Any:
    """The root element of XML, by lxml.

    Raises:
        UserError: if it is no XML, declares a document type (and so entities), or is nested too deeply.
    """
    _check(content, name)
    try:
        from lxml import etree
    except ImportError as error:
        raise UserError(f"{name}: needs lxml; pip install 'seq2seq-translate[serve]'") from error
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, remove_blank_text=False)
    try:
        return etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        raise UserError(f"{name}: no well-formed XML (line {error.lineno})") from error


def write_xml(root: Any) -> bytes:
    """XML in UTF-8 with its declaration."""
    from lxml import etree

    return bytes(etree.tostring(root.getroottree(), xml_declaration=True, encoding="UTF-8", standalone=True))


def xml_text(text: str) -> str:
    """The text without characters that XML cannot hold."""
    return _FORBIDDEN.sub("\ufffd", text)


def _check(content: bytes, name: str) -> None:
    """Raise the errors of :func:`parse_xml` before anything is built or expanded."""
    depth = count = 0

    def start(*_: object) -> None:
        nonlocal depth, count
        depth, count = depth + 1, count + 1
        if depth > MAX_DEPTH or count > MAX_ELEMENTS:
            raise UserError(
                f"{name}: more than {MAX_DEPTH} elements within each other, or {MAX_ELEMENTS:,} in all; "
                f"expected a simpler document"
            )

    def end(*_: object) -> None:
        nonlocal depth
        depth -= 1

    def doctype(*_: object) -> None:
        raise UserError(f"{name}: declares a document type; expected XML without <!DOCTYPE>")

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise UserError(f"{name}: no well-formed XML (line {error.lineno})") from error


class Archive:
    """A zip archive in memory: its files in order."""

    def __init__(self, content: bytes, name: str) -> None:
        """Unpack it.

        Raises:
            UserError: if it is damaged, encrypted, or unpacks to more than ``MAX_UNPACKED`` bytes.
        """
        self.name = name
        self.files: dict[str, bytes] = {}
        self._infos: list[zipfile.ZipInfo] = []
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                self._read(archive)
        except UserError:
            raise
        except _DAMAGE as error:
            raise UserError(f"{name}: a damaged or unusual archive; save the document again") from error

    def _read(self, archive: zipfile.ZipFile) -> None:
        self._infos = archive.infolist()
        if len(self._infos) > MAX_FILES:
            raise UserError(f"{self.name}: {len(self._infos):,} files; expected at most {MAX_FILES:,}")
        total = 0
        for info in self._infos:
            if info.flag_bits & 1:
                raise UserError(f"{self.name}: encrypted; save it without a password")
            if info.filename in self.files:
                raise UserError(f"{self.name}: two files of one name; save the document again")
            parts = []
            with archive.open(info) as file:
                while chunk := file.read(_CHUNK):
                    total += len(chunk)
                    if total > MAX_UNPACKED:
                        raise UserError(
                            f"{self.name}: unpacks to more than {MAX_UNPACKED >> 20} MiB; "
                            f"expected a smaller document"
                        )
                    parts.append(chunk)
            self.files[info.filename] = b"".join(parts)

    def write(self) -> bytes:
        """The archive with the files as they are now, in the same order and by the same methods."""
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for info in self._infos:
                is_stored = info.compress_type == zipfile.ZIP_STORED
                method = zipfile.ZIP_STORED if is_stored else zipfile.ZIP_DEFLATED
                archive.writestr(_plain(info), self.files[info.filename], compress_type=method)
        return out.getvalue()


def _plain(info: zipfile.ZipInfo) -> zipfile.ZipInfo:
    """The name and date of a file, without what a stranger may have put beside them."""
    new = zipfile.ZipInfo(info.filename, info.date_time)
    new.external_attr = 0o600 << 16
    return new


@dataclass(frozen=True)
class Rules:
    """The reading of a format's elements, by their full names.

    Attributes:
        wrappers: elements around text.
        breaks: elements that end a sentence; all others are items within one.
        spaces: an element for several spaces, with their number in the attribute ``count``.
    """

    wrappers: frozenset[str]
    breaks: frozenset[str] = frozenset()
    spaces: str = ""
    count: str = ""


class Mixed:
    """The content of an element as tokens, and a translation of them as its new content."""

    def __init__(self, element: Any, rules: Rules) -> None:
        self.element, self.rules = element, rules
        self.held: list[Any] = []  # the element of each tag
        self.tokens: list[Token] = []
        self._read(element)

    def has_text(self) -> bool:
        """Whether there is anything to translate."""
        return has_letters(self.tokens)

    def _read(self, parent: Any) -> None:
        self.tokens.append(parent.text or "")
        for child in parent:
            index = len(self.held)
            if child.tag == self.rules.spaces:
                self.tokens.append(" " * _count(child.get(self.rules.count)))
            elif child.tag in self.rules.wrappers:
                self.held.append(child)
                self.tokens.append(Tag("start", index))
                self._read(child)
                self.tokens.append(Tag("end", index))
            else:
                self.held.append(child)
                self.tokens.append(Tag("break" if child.tag in self.rules.breaks else "alone", index))
            self.tokens.append(child.tail or "")

    def write(self, run: Sequence[Token], into: Any = None, *, copied: bool = False) -> None:
        """Put a translation in place of the content.

        Args:
            run: the translation.
            into: the element that gets it; the one that was read by default.
            copied: leave the elements where they are, and put copies of them.
        """
        element = self.element if into is None else into
        content = [(child, child.tail) for child in self.held]
        for child in list(element):
            element.remove(child)
        element.text = None
        for child, _ in content:
            child.tail = None
        path = [element]
        for token in run:
            if isinstance(token, str):
                self._text(path[-1], xml_text(token))
            elif token.kind == "end":
                path.pop()
            elif token.kind == "start":
                held = self.held[token.number]
                new = held.makeelement(held.tag, dict(held.attrib), held.nsmap)
                path[-1].append(new)
                path.append(new)
            else:
                held = self.held[token.number]
                path[-1].append(deepcopy(held) if copied else held)
        if copied:
            for child, tail in content:
                child.tail = tail

    def _text(self, parent: Any, text: str) -> None:
        """Add text; the format may give several spaces an element of their own."""
        if self.rules.spaces and "  " in text:
            first, _, rest = text.partition("  ")
            more = len(rest) - len(rest.lstrip(" ")) + 1
            self._text(parent, f"{first} ")
            element = parent.makeelement(self.rules.spaces, {self.rules.count: str(more)})
            parent.append(element)
            self._text(parent, rest.lstrip(" "))
        elif len(parent):
            parent[-1].tail = (parent[-1].tail or "") + text
        else:
            parent.text = (parent.text or "") + text


def _count(written: str | None) -> int:
    return int(written) if written and re.fullmatch("[0-9]{1,3}", written) else 1
