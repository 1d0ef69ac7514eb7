"""Texts with XML tags, which the links carry over to the translation."""

import html
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from translate.serve.documents.document import Document
from translate.serve.documents.inline import Tag, Token

# Every quantifier is possessive or ends at a character that the next one excludes: the time is linear.
_MARKUP = re.compile(
    r"<!\[CDATA\[.*?\]\]>|<!--.*?-->|<\?[^<>]*+>|<(?P<slash>/?)(?P<name>[A-Za-z_][\w:.-]*+)"
    r"(?:[^<>\"']++|\"[^\"]*+\"|'[^']*+')*+>",
    re.DOTALL,
)


@dataclass(frozen=True)
class TagRules:
    """Which tags mean what; names are compared without their case.

    Attributes:
        splitting: elements that no sentence crosses.
        non_splitting: elements that never do so.
        ignored: elements whose content is not translated.
        outline: whether elements side by side, with no text between them, split, too.
    """

    splitting: Collection[str] = ()
    non_splitting: Collection[str] = ()
    ignored: Collection[str] = ()
    outline: bool = True


class _Span(NamedTuple):
    start: int
    end: int


@dataclass
class _Node:
    """A piece of the text: a tag with its partner, other markup, or text."""

    span: _Span
    kind: str  # text, start, end or alone
    name: str = ""
    partner: int | None = None
    parent: int | None = None


def read_tagged(text: str, language: str, rules: TagRules) -> Document:
    """A text with XML tags as a document; what is no tag stays text."""
    nodes = _nodes(text)
    _match(nodes)
    nodes = _without(nodes, {name.lower() for name in rules.ignored})
    _match(nodes)
    runs: list[list[Token]] = []
    spans: list[tuple[int, int]] = []  # of nodes
    first = 0
    for index in [*_borders(text, nodes, rules), len(nodes)]:
        tokens = _tokens(text, nodes, first, index)
        if any(isinstance(token, str) and any(map(str.isalpha, token)) for token in tokens):
            runs.append(tokens)
            spans.append((first, index))
        first = index + 1

    def render(written: list[list[Token]]) -> bytes:
        parts, done = [], 0
        for (begin, end), run in zip(spans, written, strict=True):
            parts += [text[nodes[n].span.start : nodes[n].span.end] for n in range(done, begin)]
            parts += [_shown(token, text, nodes) for token in run]
            done = end
        parts += [text[node.span.start : node.span.end] for node in nodes[done:]]
        return "".join(parts).encode()

    return Document(runs, render, language)


def _nodes(text: str) -> list[_Node]:
    found, end = [], 0
    last = max(text.rfind("-->"), text.rfind("]]>"))
    # Markup that nothing closes is none; looking for its end again and again would take quadratic time.
    safe = text[: last + 1] + text[last + 1 :].replace("<!", "  ")
    for match in _MARKUP.finditer(safe):
        if match.start() > end:
            found.append(_Node(_Span(end, match.start()), "text"))
        written, name = match[0], match["name"]
        kind = "alone" if name is None or written.endswith("/>") else "end" if match["slash"] else "start"
        found.append(_Node(_Span(*match.span()), kind, (name or "").lower()))
        end = match.end()
    if end < len(text):
        found.append(_Node(_Span(end, len(text)), "text"))
    return found


def _match(nodes: list[_Node]) -> None:
    """Pair the tags; those without a partner stand alone. Each node learns its parent."""
    open_tags: list[int] = []
    for index, node in enumerate(nodes):
        if node.kind == "end":
            while open_tags and nodes[open_tags[-1]].name != node.name and _has(nodes, open_tags, node.name):
                nodes[open_tags.pop()].kind = "alone"
            if open_tags and nodes[open_tags[-1]].name == node.name:
                node.partner = open_tags.pop()
                nodes[node.partner].partner = index
            else:
                node.kind = "alone"
        node.parent = open_tags[-1] if open_tags else None
        if node.kind == "start":
            open_tags.append(index)
    for index in open_tags:
        nodes[index].kind = "alone"


def _has(nodes: Sequence[_Node], open_tags: Sequence[int], name: str) -> bool:
    return any(nodes[index].name == name for index in open_tags[-64:])


def _without(nodes: list[_Node], ignored: Collection[str]) -> list[_Node]:
    """The nodes; an ignored element is one of them."""
    found, index = [], 0
    while index < len(nodes):
        node = nodes[index]
        if node.kind == "start" and node.name in ignored and node.partner is not None:
            span = _Span(node.span.start, nodes[node.partner].span.end)
            found.append(_Node(span, "alone", node.name))
            index = node.partner + 1
        else:
            found.append(_Node(node.span, node.kind, node.name))
            index += 1
    return found


def _borders(text: str, nodes: Sequence[_Node], rules: TagRules) -> list[int]:
    """The tags that end a run of text."""
    with_text = {
        node.parent for node in nodes if node.kind == "text" and text[node.span.start : node.span.end].strip()
    }
    splitting, never = ({name.lower() for name in names} for names in (rules.splitting, rules.non_splitting))
    return [
        index
        for index, node in enumerate(nodes)
        if node.kind in ("start", "end")
        and node.name not in never
        and (node.name in splitting or (rules.outline and node.parent not in with_text))
    ]


def _tokens(text: str, nodes: Sequence[_Node], first: int, last: int) -> list[Token]:
    """A run as tokens; a tag whose partner is not in it stands alone."""
    found: list[Token] = []
    for index in range(first, last):
        node = nodes[index]
        if node.kind == "text":
            found.append(html.unescape(text[node.span.start : node.span.end]))
        elif node.kind == "start" and node.partner is not None and node.partner < last:
            found.append(Tag("start", index))
        elif node.kind == "end" and node.partner is not None and node.partner >= first:
            found.append(Tag("end", node.partner))
        else:
            found.append(Tag("alone", index))
    return found


def _shown(token: Token, text: str, nodes: Sequence[_Node]) -> str:
    if isinstance(token, str):
        return html.escape(token, quote=False)
    index = token.number
    if token.kind == "end":
        partner = nodes[index].partner
        assert partner is not None
        index = partner
    return text[nodes[index].span.start : nodes[index].span.end]
