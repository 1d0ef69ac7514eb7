"""Inline markup of a sentence: XML and HTML tags, and placeholders: ``{0}``, ``%s``, addresses on the net.

Markup is removed from a sentence before it is translated. Each item keeps its position, and a start tag the
end tag that closes it.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from translate.text.words import tags_before

# Every quantifier is possessive or ends at a character that the next one excludes: the time is linear.
_TAG = r"""<!--.*?-->|<\?[^<>]*\?>|</?[A-Za-z_][\w:.-]*+(?:\s(?:[^<>"']|"[^"]*"|'[^']*')*)?/?>"""
_LETTER = "A-Za-z\u00c0-\u024f"  # in other scripts particles follow placeholders: %sを, a@b.org에
_WORD = rf"{_LETTER}\d_"
_FORMAT = r"[-+#0]*+\d*+(?:\.\d++)?(?:hh|h|ll|l|z|j|t)?[diouxXeEfFgGcspn@]"  # of printf
_PLACEHOLDER = (
    r"\{[\w.-]*+,\s*+(?:plural|select(?:ordinal)?)\s*+,(?:[^{}]++|\{(?:[^{}]++|\{[^{}]*+\})*+\})*+\}"
    r"|\{\{\s*+[\w.-]++\s*+\}\}|[$%#]?\{[\w.-]*+(?:![rsa])?(?::[^{}\s]*+|,[^{}]*+)?\}"
    # "%d%%" is a number of percent, and "%ss" has the s of a plural
    rf"|%\([\w.-]++\){_FORMAT}(?:%%)?|%(?:\d++\$)?(?:{_FORMAT}(?:%%|(?![{_LETTER}]))|[ds](?=s(?![{_LETTER}])))"
    rf"|%(?:L?\d\d?|(?<!\d%)[A-Z][A-Z0-9_]++)(?![{_WORD}])(?:%(?![{_WORD}]))?"  # of Qt, and %PRODUCTNAME
    r"|\$\(\w++\)|\$[A-Za-z_][\w.]*+\$|\$[A-Za-z_]\w++|\#[A-Za-z_]\w*+\#|\{%[^{}%]*+%\}"
    r"|\[X\d++X\]|(?<![\w:/]):[a-z_]{2,}+(?![\w:])"  # Weblate's, and Laravel's
    rf"|(?<![{_WORD}])(?:https?|ftp)://[!#-;=?-~]*[A-Za-z0-9/=#&%+-]"
    rf"|<?(?<![{_WORD}.+-])[{_WORD}.+-]++@[{_WORD}-]++(?:\.[{_WORD}-]++)++>?"
)
MARKUP = re.compile(rf"(?P<tag>{_TAG})|(?P<placeholder>{_PLACEHOLDER})", re.DOTALL)
_OPENER = re.compile(r"[<{%$#@]|:(?=//|[a-z_])|\[(?=X)")  # all markup has one of them
# Pieces of placeholders, by a character of theirs; 50% and the Turkish %50 are none.
_PIECES = {"{": re.compile("[{}]"), "%": re.compile(r"%\(\w*+\)?|(?<![\d\s])%(?!\d)|%(?=[^\W\d])")}
MAX_PASSES = 8  # of removing markup that only the removal of other markup has made
_NAME = re.compile(r"</?([A-Za-z_][\w:.-]*+)")
# HTML elements without content, which need no slash.
_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
)
CLOSING = frozenset(".,;:!?…)]}»”’%")  # no space goes before them


@dataclass(frozen=True)
class Item:
    """A tag or a placeholder.

    Attributes:
        text: its text in the sentence.
        kind: ``start``, ``end`` or ``alone`` (an empty element, a placeholder, a tag without its partner).
        position: offset into the text without markup.
        partner: the index of its end or start tag; ``None`` if it is alone.
        is_word: whether it is a placeholder, which has spaces around it like a word.
        spaces: whether there was white space before and after it.
    """

    text: str
    kind: str
    position: int
    partner: int | None = None
    is_word: bool = False
    spaces: tuple[bool, bool] = (False, False)


@dataclass(frozen=True)
class Marked:
    """A sentence without its markup, and the markup."""

    text: str
    items: tuple[Item, ...] = ()
    unbalanced: int = 0  # tags without a partner


class _Found(NamedTuple):
    """Markup in a text."""

    start: int
    end: int
    kind: str  # as of an item
    is_word: bool


def read_markup(sentence: str, tags: Collection[str] = (), *, placeholders: bool = True) -> Marked:
    """Remove the markup from ``sentence``, so that the text has none.

    A sentence without markup does not change. Entities such as ``&lt;`` are text. The time is linear in the
    length, whatever the sentence holds.

    Args:
        sentence: of any text.
        tags: words such as ``<own>`` that are no markup where they stand before the sentence.
        placeholders: whether they are removed; otherwise tags alone.
    """
    if before := tags_before(sentence, tags):
        inner = read_markup(sentence[before[-1].end :], placeholders=placeholders)
        if not inner.items:
            return Marked(sentence)
        start = f"{sentence[: before[-1].end]} "
        after = tuple(replace(item, position=len(start) + item.position) for item in inner.items)
        return Marked(start + inner.text, after, inner.unbalanced)
    text, items = sentence, list[Item]()
    for number in range(MAX_PASSES + 2):  # a space may not help: `<a<b>>`
        found = _find(text, placeholders=placeholders)
        if not found:
            break
        if number > MAX_PASSES:  # without the characters that markup begins with, there is none
            found = [_Found(match.start(), match.end(), "alone", False) for match in _OPENER.finditer(text)]
        rest, others = _take_out(text, found, glue=" " if number else "")
        if not number and _find(rest, placeholders=placeholders):  # what is joined looks like markup
            rest, others = _take_out(text, found, glue=" ")
        moved = _moved(items, found, len(rest))
        text, items = rest, sorted([*moved, *others], key=lambda item: item.position)
    return _matched(text, items)


def without_made_up(translation: str, source: str) -> str:
    """A translation without markup, and without pieces of it such as ``{`` and ``%(``.

    Args:
        translation: as the model wrote it.
        source: the text that it read, which has no markup; pieces that it has may stand in the translation.
    """
    found = (match[0] for match in find_markup(translation))
    own = all(text[1:].isdigit() and text[1:] in source for text in found)  # the Turkish %50, of 50%
    text = translation if own else read_markup(translation).text
    for character, piece in _PIECES.items():
        if character not in source:
            text = piece.sub("", text)
    return text


def keeps_markup(translation: str, source: str) -> bool:
    """Whether a translation has all markup of its source, and neither other markup nor pieces of it."""
    own, found = (sorted(match[0] for match in find_markup(text)) for text in (source, translation))
    rest = read_markup(translation).text
    return own == found and without_made_up(rest, read_markup(source).text) == rest


def find_markup(text: str) -> list[re.Match[str]]:
    """The tags and placeholders in a text, in order; they are groups of :data:`MARKUP`."""
    last = text.rfind("-->")
    if "<!--" in text[last + 1 :]:
        # A comment that nothing closes is none; searching its end again and again takes quadratic time.
        text = text[: last + 1] + text[last + 1 :].replace("<!--", "<!__")
    return list(MARKUP.finditer(text))


def pair_tags(tags: Iterable[tuple[str, str]]) -> dict[int, int]:
    """The partner of each start and end tag that has one, both ways: the time is linear.

    An end tag belongs to the last open start tag of its name; tags opened inside and not closed have none.

    Args:
        tags: the kind (start, end or another one) and the name of each.
    """
    open_tags: list[tuple[int, str]] = []  # index, name
    depths: defaultdict[str, list[int]] = defaultdict(list)  # of the open tags of each name
    partners: dict[int, int] = {}
    for index, (kind, name) in enumerate(tags):
        if kind == "start":
            depths[name].append(len(open_tags))
            open_tags.append((index, name))
        elif kind == "end" and depths[name]:
            depth = depths[name][-1]
            partner = open_tags[depth][0]
            partners[index], partners[partner] = partner, index
            while len(open_tags) > depth:
                depths[open_tags.pop()[1]].pop()
    return partners


def _find(text: str, *, placeholders: bool) -> list[_Found]:
    return [
        _Found(match.start(), match.end(), kind_and_name(match[0])[0], match["placeholder"] is not None)
        for match in find_markup(text)
        if placeholders or match["tag"]
    ]


def _moved(items: Sequence[Item], found: Sequence[_Found], length: int) -> list[Item]:
    """The items, in order, after other markup was removed and ``length`` characters are left."""
    moved, removed, passed = [], 0, 0
    for item in items:
        while passed < len(found) and found[passed].end <= item.position:
            removed += found[passed].end - found[passed].start
            passed += 1
        inside = max(0, item.position - found[passed].start) if passed < len(found) else 0
        moved.append(replace(item, position=min(item.position - removed - inside, length)))
    return moved


def _take_out(sentence: str, found: Sequence[_Found], glue: str) -> tuple[str, list[Item]]:
    """The text around the markup, joined by ``glue``, and an item for every piece of markup."""
    text, items, end = _Text(), [], 0
    for mark in found:
        text.join(sentence[end : mark.start], "" if end == 0 else glue)
        end = mark.end
        before, after = sentence[mark.start - 1 : mark.start], sentence[end : end + 1]
        spaces = (before.isspace(), after.isspace())
        if mark.kind == "alone" and _is_word(text.last) and _is_word(after):
            text.add(" ")  # a line break between two words must not join them
        elif mark.kind == "alone" and spaces[0] and (not after or after in CLOSING):
            text.strip()
        written = sentence[mark.start : end]
        items.append(Item(written, mark.kind, text.length, is_word=mark.is_word, spaces=spaces))
    text.join(sentence[end:], glue)
    text.strip()
    return "".join(text.parts), [replace(item, position=min(item.position, text.length)) for item in items]


class _Text:
    """A growing text."""

    def __init__(self) -> None:
        self.parts: list[str] = []  # none is empty
        self.length = 0

    @property
    def last(self) -> str:
        """The last character; empty if there is none."""
        return self.parts[-1][-1] if self.parts else ""

    def add(self, more: str) -> None:
        if more:
            self.parts.append(more)
            self.length += len(more)

    def join(self, more: str, glue: str) -> None:
        """Add ``more`` after ``glue``, without two spaces in a row."""
        if not self.parts or self.last.isspace():
            self.add(more.lstrip())
        else:
            self.add(glue if more else "")
            self.add(more)

    def strip(self) -> None:
        """Remove the white space at the end."""
        while self.parts and self.last.isspace():
            part = self.parts.pop()
            self.length -= len(part)
            self.add(part.rstrip())


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def kind_and_name(markup: str) -> tuple[str, str]:
    """The kind of a tag or a placeholder, as of an :class:`Item`, and the name of a start or end tag."""
    match = _NAME.match(markup)
    if match is None or markup.endswith("/>"):
        return "alone", ""
    name = match[1].casefold()
    if markup.startswith("</"):
        return "end", name
    return ("alone" if name in _VOID else "start"), name


def _matched(text: str, items: list[Item]) -> Marked:
    """The items with their partners; tags left over are alone."""
    kinds = [kind_and_name(item.text) for item in items]
    partners = pair_tags(kinds)
    found = [
        replace(item, partner=partners[index]) if index in partners else replace(item, kind="alone")
        for index, item in enumerate(items)
    ]
    unbalanced = sum(kind != "alone" and index not in partners for index, (kind, _) in enumerate(kinds))
    return Marked(text, tuple(found), unbalanced)
