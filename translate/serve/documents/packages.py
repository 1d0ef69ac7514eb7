"""Reading XML, and archives of it, that a stranger may have written: bounded, without entities."""

import io
import re
import zipfile
import zlib
from typing import Any
from xml.parsers import expat

from translate.errors import UserError

MAX_FILES = 4096  # in an archive
MAX_UNPACKED = 64 << 20  # bytes of all its files
MAX_DEPTH = 200  # elements within elements
MAX_ELEMENTS = 2_000_000
_CHUNK = 1 << 16
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
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
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
