"""Inline markup of a sentence: XML and HTML tags, and placeholders such as ``{0}`` and ``%s``.

Markup is removed from a sentence before it is translated. Each item keeps its position, and a start tag the
end tag that closes it.
"""

import re
from dataclasses import dataclass, replace

_TAG = r"""<!--.*?-->|<\?[^<>]*\?>|</?[A-Za-z_][\w:.-]*(?:\s(?:[^<>"']|"[^"]*"|'[^']*')*)?/?>"""
_PLACEHOLDER = (
    r"\{\{\s*[\w.-]+\s*\}\}|\$?\{[\w.-]*(?:![rsa])?(?::[^{}\s]*)?\}"
    r"|%(?:\([\w.-]+\)|\d+\$)?[-+#0]*\d*(?:\.\d+)?(?:hh|h|ll|l|z|j|t)?[diouxXeEfFgGcsp@](?![^\W\d_])"
)
MARKUP = re.compile(rf"(?P<tag>{_TAG})|(?P<placeholder>{_PLACEHOLDER})", re.DOTALL)
_NAME = re.compile(r"</?([A-Za-z_][\w:.-]*)")
# HTML elements without content, which need no slash.
_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
)
_CLOSING = frozenset(".,;:!?…)]}»”’%")  # no space goes before them


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


def read_markup(sentence: str) -> Marked:
    """Remove the markup from ``sentence``, so that the text has none.

    A sentence without markup does not change. Entities such as ``&lt;`` are text.
    """
    matches = list(MARKUP.finditer(sentence))
    if not matches:
        return Marked(sentence)
    text, items = _take_out(sentence, matches, glue="")
    if MARKUP.search(text):  # the text around a tag, joined, looks like markup
        text, items = _take_out(sentence, matches, glue=" ")
    while more := list(MARKUP.finditer(text)):  # a space did not help: `<a<b>>`
        rest, found = _take_out(text, more, glue=" ")
        moved = [replace(item, position=_position_without(item.position, more, len(rest))) for item in items]
        text, items = rest, sorted([*moved, *found], key=lambda item: item.position)
    return _matched(text, items)


def _position_without(position: int, matches: list[re.Match[str]], length: int) -> int:
    """The offset after the matches are removed from its text, at most ``length``."""
    removed = sum(max(0, min(match.end(), position) - match.start()) for match in matches)
    return min(position - removed, length)


def _take_out(sentence: str, matches: list[re.Match[str]], glue: str) -> tuple[str, list[Item]]:
    """The text between the matches, joined by ``glue``, and an item for each match."""
    text, items, end = "", [], 0
    for match in matches:
        text = _join(text, sentence[end : match.start()], "" if end == 0 else glue)
        end = match.end()
        before, after = sentence[match.start() - 1 : match.start()], sentence[end : end + 1]
        spaces = (before.isspace(), after.isspace())
        kind = _kind(match)
        is_word = match["placeholder"] is not None
        if kind == "alone" and _is_word(text[-1:]) and _is_word(after):
            text += " "  # a line break between two words must not join them
        elif kind == "alone" and spaces[0] and (not after or after in _CLOSING):
            text = text.rstrip()
        items.append(Item(match.group(), kind, len(text), is_word=is_word, spaces=spaces))
    text = _join(text, sentence[end:], glue)
    text = text.rstrip()
    return text, [replace(item, position=min(item.position, len(text))) for item in items]


def _join(text: str, more: str, glue: str) -> str:
    """The texts joined by ``glue``, without two spaces in a row."""
    if not text or text[-1].isspace():
        return text + more.lstrip()
    return text + (glue if text and more else "") + more


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _kind(match: re.Match[str]) -> str:
    text = match.group()
    if match["tag"] is None or text.startswith(("<!", "<?")) or text.endswith("/>"):
        return "alone"
    if text.startswith("</"):
        return "end"
    return "alone" if _name(text) in _VOID else "start"


def _name(tag: str) -> str:
    match = _NAME.match(tag)
    assert match is not None
    return match[1].casefold()


def _matched(text: str, items: list[Item]) -> Marked:
    """Pair each end tag with the last open start tag of its name; tags left over are alone."""
    found = list(items)
    open_tags: list[int] = []
    for index, item in enumerate(items):
        if item.kind == "start":
            open_tags.append(index)
        elif item.kind == "end":
            names = [_name(items[start].text) for start in open_tags]
            if _name(item.text) not in names:
                continue
            depth = len(names) - 1 - names[::-1].index(_name(item.text))
            partner = open_tags[depth]
            del open_tags[depth:]  # tags opened inside and not closed have no partner
            found[index] = replace(item, partner=partner)
            found[partner] = replace(items[partner], partner=index)
    unbalanced = 0
    for index, item in enumerate(found):
        if item.kind != "alone" and item.partner is None:
            unbalanced += 1
            found[index] = replace(item, kind="alone")
    return Marked(text, tuple(found), unbalanced)
