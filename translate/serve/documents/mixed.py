"""An XML element with mixed content: text, elements around text, and other elements; as tokens and back."""

import re
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from translate.serve.documents.inline import Tag, Token
from translate.serve.documents.packages import xml_text


@dataclass(frozen=True)
class Rules:
    """How the elements of a format are read, by their full names.

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
        return any(isinstance(token, str) and any(map(str.isalpha, token)) for token in self.tokens)

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
        content = [(each, each.tail) for each in self.held]
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
