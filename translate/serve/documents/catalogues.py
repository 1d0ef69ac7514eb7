"""Catalogues of messages: PO, and XLIFF 1.2 and 2.0. Messages that have a translation keep it."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from translate.errors import UserError, optional
from translate.serve.documents.document import Document, TaggedText, Token, decode, document_of
from translate.serve.documents.xml import Mixed, Rules, parse_xml, write_xml
from translate.text.markup import find_markup, kind_and_name

_LINE = re.compile(r'#.*|(?:(?:msg\w+(?:\[\d+\])?|domain)\s*)?"(?:[^"\\]|\\.)*+"')
_XLIFF = "urn:oasis:names:tc:xliff:document:"
_WAITING = {"new", "needs-translation", "initial"}  # states of targets of XLIFF 1.2, and of segments of 2.0


def read_po(content: bytes, name: str) -> Document:
    """The messages of a PO file that are not translated, plurals too.

    The second form of a plural is translated for every further one.
    """
    polib = optional("polib", name, "serve")
    text, _ = decode(content, name)
    if not re.search(r"^msgid\b.*\n", text, re.MULTILINE):  # polib might take it for the name of a file
        raise UserError(f"{name}: no PO file: it has no line that begins with msgid")
    for number, line in enumerate(text.split("\n"), 1):  # polib cuts one without a quotation mark
        if line.strip() and not _LINE.fullmatch(line.strip()):
            raise UserError(f"{name}, line {number}: no line of a PO file; is a quotation mark missing?")
    try:
        file = polib.pofile(text, wrapwidth=78)
    except (OSError, ValueError, IndexError, AttributeError, KeyError) as error:
        raise UserError(f"{name}: no PO file that can be read; check it with msgfmt") from error
    messages = [
        _Message(entry, number, source)
        for entry in file
        if not entry.obsolete and not entry.translated() and "fuzzy" not in entry.flags
        for number, source in enumerate([entry.msgid, entry.msgid_plural])
    ]

    def save(_: list[None]) -> bytes:
        shown = str(file) if text.startswith("#") else str(file).removeprefix("#\n")
        return (shown.rstrip("\n") + "\n").encode()

    return document_of(messages, save)


class _Message(TaggedText):
    """A message of a PO file, or its plural."""

    def __init__(self, entry: Any, number: int, source: str) -> None:
        super().__init__()
        self.entry, self.number = entry, number
        for line in source.splitlines(keepends=True):
            bare = line.rstrip("\r\n")
            matches = [match for match in find_markup(bare) if match["tag"]]
            self.add_matches(bare, matches, [kind_and_name(match[0]) for match in matches])
            if bare != line:
                self.add_tag("break", len(self.raw), line[len(bare) :])

    def write(self, run: Sequence[Token]) -> str:
        """Make a run the translation."""
        text = super().write(run)
        if not self.entry.msgid_plural:
            self.entry.msgstr = text
        forms = self.entry.msgstr_plural  # a language with one form has the plural, which shows the number
        for form in forms:
            if (form == 0 < len(forms) - 1) == (self.number == 0) and not forms[form]:
                forms[form] = text
        return text


def read_xliff(content: bytes, name: str) -> Document:
    """The units of an XLIFF file that have no translation; those with ``translate="no"`` stay without one.

    A target that repeats its source, and whose state says so, is none.
    """
    root = parse_xml(content, name)
    space = str(root.tag).rpartition("}")[0].lstrip("{")
    if not space.startswith(_XLIFF):
        raise UserError(f"{name}: no XLIFF file; expected the name space {_XLIFF}1.2 or {_XLIFF}2.0")
    full = f"{{{space}}}"
    rules = Rules(frozenset(f"{full}{wrapper}" for wrapper in ("g", "mrk", "pc")))
    units = [_Unit(source, target, rules, full) for source, target in _units(root, full)]
    return document_of(units, lambda _: write_xml(root))


class _Unit(Mixed):
    """A source of an XLIFF file, and the place of its target."""

    def __init__(self, source: Any, target: Any, rules: Rules, full: str) -> None:
        super().__init__(source, rules)
        self.target, self.full = target, full

    def write(self, run: Sequence[Token], into: Any = None) -> None:
        """Make a run the target, which holds copies of the elements of the source."""
        if self.target is None:
            self.target = self.element.makeelement(f"{self.full}target")
            segmented = self.element.getparent().find(f"{self.full}seg-source")
            (self.element if segmented is None else segmented).addnext(self.target)
            self.target.tail = self.element.tail
        super().write(run, self.target)
        if f"{_XLIFF}1" in self.full:
            self.target.set("state", "needs-review-translation")
        else:
            self.target.getparent().set("state", "translated")


def _units(root: Any, full: str) -> Iterator[tuple[Any, Any]]:
    """The source of each unit without translation, and its target if there is one."""
    for unit in root.iter(f"{full}trans-unit", f"{full}segment"):
        source, target = unit.find(f"{full}source"), unit.find(f"{full}target")
        kept = next((part for part in (unit, *unit.iterancestors()) if part.get("translate")), None)
        if source is None or (kept is not None and kept.get("translate") == "no"):
            continue
        texts = ["" if part is None else "".join(part.itertext()).strip() for part in (source, target)]
        states = {part.get("state") for part in (unit, target) if part is not None}
        if not texts[1] or (texts[0] == texts[1] and states & _WAITING):
            yield source, target
