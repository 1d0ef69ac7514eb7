"""XML, and archives of it, that a stranger may have written: bounded, without entities; its mixed content."""

import io
import re
import zipfile
import zlib
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from translate.config.names import shorten
from translate.errors import UserError, optional
from translate.serve.documents.document import Tag, Token

MAX_FILES = 4096  # in an archive
MAX_UNPACKED = 64 << 20  # bytes of all its files
MAX_ELEMENTS = 2_000_000
_DAMAGE = (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, NotImplementedError)
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def parse_xml(content: bytes, name: str) -> Any:
    """The root element of XML, by lxml.

    Raises:
        UserError: if it is no XML, declares a document type (and so entities), or is nested too deeply.
    """
    etree = optional("lxml.etree", name, "serve")
    # Nothing is loaded or expanded, and libxml2 refuses more than 256 elements within each other.
    safe = {"resolve_entities": False, "no_network": True, "load_dtd": False}
    parser = etree.iterparse(io.BytesIO(content), events=("start",), **safe)
    try:
        for count, (_, element) in enumerate(parser, 1):
            if count == 1 and element.getroottree().docinfo.doctype:
                raise UserError(f"{name}: declares a document type; expected XML without <!DOCTYPE>")
            if count > MAX_ELEMENTS:
                raise UserError(f"{name}: more than {MAX_ELEMENTS:,} elements; expected a simpler document")
    except etree.XMLSyntaxError as error:
        raise UserError(f"{name}: no well-formed XML: {shorten(error.msg)}") from error
    return parser.root


def write_xml(root: Any) -> bytes:
    """XML in UTF-8 with its declaration."""
    from lxml import etree

    return bytes(etree.tostring(root.getroottree(), xml_declaration=True, encoding="UTF-8", standalone=True))


def xml_text(text: str) -> str:
    """The text without characters that XML cannot hold."""
    return _FORBIDDEN.sub("\ufffd", text)


class Archive:
    """A zip archive in memory: its files in order."""

    def __init__(self, content: bytes, name: str) -> None:
        """Unpack it.

        Raises:
            UserError: if it is damaged, encrypted, or unpacks to more than ``MAX_UNPACKED`` bytes.
        """
        self.name = name
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                self._infos = archive.infolist()
                self._check()
                self.files = {info.filename: archive.read(info) for info in self._infos}
        except UserError:  # which is a ValueError, too
            raise
        except _DAMAGE as error:
            raise UserError(f"{name}: empty, damaged, or another kind of file than its name says") from error

    def _check(self) -> None:
        """Raise :class:`UserError` before anything is unpacked; no file unpacks to more than it says."""
        infos = self._infos
        if len(infos) > MAX_FILES:
            raise UserError(f"{self.name}: {len(infos):,} files; expected at most {MAX_FILES:,}")
        if any(info.flag_bits & 1 for info in infos):
            raise UserError(f"{self.name}: encrypted; save it without a password")
        if len({info.filename for info in infos}) < len(infos):
            raise UserError(f"{self.name}: two files of one name; save the document again")
        if any(info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for info in infos):
            raise UserError(f"{self.name}: an unusual archive; save the document again")
        if sum(info.file_size for info in infos) > MAX_UNPACKED:
            raise UserError(f"{self.name}: unpacks to more than {MAX_UNPACKED >> 20} MiB; expected less")

    def write(self) -> bytes:
        """The archive with the files as they are now, in the same order and by the same methods."""
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for info in self._infos:  # without what a stranger may have put beside the names and dates
                plain = zipfile.ZipInfo(info.filename, info.date_time)
                plain.external_attr = 0o600 << 16
                archive.writestr(plain, self.files[info.filename], compress_type=info.compress_type)
        return out.getvalue()


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

    def write(self, run: Sequence[Token], into: Any = None) -> None:
        """Put a translation in place of the content.

        Args:
            run: the translation.
            into: the element that gets it; the one that was read by default.
        """
        element = self.element if into is None else into
        for child in list(element):
            element.remove(child)
        element.text = None
        path = [element]
        for token in run:
            if isinstance(token, str):
                text, parent = xml_text(token), path[-1]
                if len(parent):
                    parent[-1].tail = (parent[-1].tail or "") + text
                else:
                    parent.text = (parent.text or "") + text
            elif token.kind == "end":
                path.pop()
            elif token.kind == "start":
                held = self.held[token.number]
                new = held.makeelement(held.tag, dict(held.attrib), held.nsmap)
                path[-1].append(new)
                path.append(new)
            else:
                held = self.held[token.number]
                new = held if into is None else deepcopy(held)  # sentences of a note in it are written later
                new.tail = None
                path[-1].append(new)


def _count(written: str | None) -> int:
    return int(written) if written and re.fullmatch("[0-9]{1,3}", written) else 1
