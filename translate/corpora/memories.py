"""Reads TMX, the format in which translators' programs and OPUS exchange translation memories.

https://www.gala-global.org/tmx-14b: a unit has a variant of its text for each language.
"""

from collections.abc import Iterator
from pathlib import Path
from xml.parsers import expat

from translate.config.names import shorten, shown_path
from translate.errors import UserError
from translate.text.languages import base
from translate.text.lines import MAX_LINE, check_expansion, opened

_CHUNK = 1 << 16  # bytes
_DEEPEST = 100  # elements inside one another
_CODES = frozenset(["bpt", "ept", "it", "ph", "ut"])  # elements that hold codes of a format, not words

Unit = dict[str, str]  # the text of each language


def read_units(path: Path) -> Iterator[Unit]:
    """The units of a memory; a language is named by its code without the region: ``en`` for ``en-US``.

    Of several variants in one language the first counts. Codes inside a text are left out, and white space
    is one space.

    Raises:
        UserError: while reading, for a file that is not TMX, is damaged, declares entities, which may expand
            without end, or holds a unit of more than ``MAX_LINE`` characters.
    """
    where = shown_path(path)
    reader = _Reader(where)
    size = 0
    with opened(path) as (file, bound):
        try:
            while piece := file.read(_CHUNK):
                size += len(piece)
                check_expansion(size, bound, path)
                reader.parser.Parse(piece)
                yield from reader.take()
            reader.parser.Parse(b"", True)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code).replace("no element found", "the file ends too early")
            raise UserError(f"{where}, line {error.lineno}: not valid XML ({reason})") from None


class _Reader:
    """Gathers the units of a file while expat reads it."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.units: list[Unit] = []
        self.unit: Unit = {}
        self.open: list[str] = []  # elements
        self.language = ""
        self.text: list[str] = []  # of the segment
        self.size = 0  # of the unit, in characters
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.add
        self.parser.EntityDeclHandler = self.refuse_entities

    def take(self) -> list[Unit]:
        """The units that have ended since the last call."""
        units, self.units = self.units, []
        return units

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if not self.open and name != "tmx":
            raise UserError(f"{self.where}: expected <tmx> as its first element, got <{shorten(name)}>")
        if len(self.open) == _DEEPEST:
            raise UserError(f"{self.where}: nested too deeply; expected a translation memory")
        self.open.append(name)
        if name == "tu":
            self.unit, self.size = {}, 0
        elif name == "tuv":
            self.language = base(attributes.get("xml:lang") or attributes.get("lang", ""))
        elif name == "seg":
            self.text = []

    def end(self, name: str) -> None:
        self.open.pop()
        if name == "tu":
            self.units.append(self.unit)
        elif name == "seg" and self.language:
            self.unit.setdefault(self.language, " ".join("".join(self.text).split()))

    def add(self, text: str) -> None:
        if "seg" in self.open and _CODES.isdisjoint(self.open):
            self.text.append(text)
            self.size += len(text)
            if self.size > MAX_LINE:
                line = self.parser.CurrentLineNumber
                raise UserError(f"{self.where}, line {line}: a unit has more than {MAX_LINE:,} characters")

    def refuse_entities(self, name: str, *_: object) -> None:
        line = self.parser.CurrentLineNumber
        raise UserError(f"{self.where}, line {line}: declares an entity; expected plain text in a memory")
