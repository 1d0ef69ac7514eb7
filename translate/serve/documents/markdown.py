"""Markdown: headings, paragraphs, items and cells as CommonMark reads them; all else stays as it is."""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import accumulate
from typing import Any

from translate.errors import UserError, optional
from translate.serve.documents.document import Document, Placed, Tag, TaggedText, Token, decode, spanned
from translate.text.markup import pair_tags

MAX_BYTES = 2 << 20  # of a document
MAX_MARKS = 1000  # characters of a paragraph that may be markup; the time may grow with their square
_FRONT_MATTER = re.compile(r"---[ \t]*\n.*?\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_SPECIAL = re.compile(r"[\\`*\[\]]|(?<![^\W_])_|_(?![^\W_])|<(?=[A-Za-z/!?])|&(?=#?\w+;)|~(?=~)")
_LINE_START = re.compile(r"(?=[#>]|[-+=](?:\s|$)|(?:-\s*){3})|(?<=\d)(?=[.)](?:\s|$))")
_EMPHASIS = {"em": "em", "strong": "strong", "s": "s"}  # tokens of the parser -> elements of HTML
_GITHUB = re.compile(r"^\[[ xX]\] |\[\^[^\[\]\s|]+\]:?")  # the box of a task, and a footnote or its mark
_ALERT = re.compile(r"\[!\w+\]")  # of GitHub: [!NOTE] on the first line of a quotation
_HTML_TAG = re.compile(r"<(/?)([A-Za-z][\w-]*)")


def read_markdown(content: bytes, name: str) -> Document:
    """The text of a Markdown file. Not translated: code, HTML blocks, front matter, addresses, pictures."""
    if len(content) > MAX_BYTES:
        raise UserError(f"{name}: {len(content):,} bytes of Markdown; expected at most {MAX_BYTES:,}")
    text, encoding = decode(content, name)
    newline = "\r\n" if "\r\n" in text else "\n"
    text = re.sub(r"\r\n?", "\n", text)
    front = _FRONT_MATTER.match(text)
    offset = front.end() if front else 0
    blocks: list[Placed] = []
    env: dict[str, Any] = {}
    for token, places in _places(text, offset, _parser().parse(text[offset:], env)):
        if sum(map(token.content.count, "[*_`<!~")) > MAX_MARKS:
            raise UserError(
                f"{name}, line {text.count(chr(10), 0, places[0][0]) + 1}: a paragraph has more than "
                f"{MAX_MARKS:,} characters such as * and [; expected less markup"
            )
        token.children = _inline(token.content, env)
        blocks.append(((places[0][0], places[-1][1]), _Block(token, places, text)))
    return spanned(text, blocks, lambda written: written.replace("\n", newline).encode(encoding))


@cache
def _parser() -> Any:
    library = optional("markdown_it", "Markdown", "serve")
    # Inline text is parsed block by block, once its length is known.
    parser = library.MarkdownIt("commonmark", {"store_labels": True})
    return parser.enable(["table", "strikethrough"]).disable("inline")


def _inline(text: str, env: dict[str, Any]) -> list[Any]:
    """The inline tokens of a text; ``env`` has the addresses that it may refer to."""
    tokens: list[Any] = []
    _parser().inline.parse(text, _parser(), env, tokens)
    return tokens


def _places(text: str, offset: int, tokens: Iterable[Any]) -> Iterable[tuple[Any, list[tuple[int, int]]]]:
    """Each token of inline text, with the (start, end) of its lines."""
    starts = list(accumulate((len(line) + 1 for line in text[offset:].split("\n")), initial=offset))
    at = offset
    cell = False
    for token in tokens:
        cell = token.type in ("th_open", "td_open") or (cell and token.type == "inline")
        if token.type != "inline" or not token.content.strip():
            continue
        found = []
        at = max(at, starts[token.map[0]])
        for line in token.content.split("\n"):
            written = line.strip().replace("|", "\\|") if cell else line.strip()
            place = text.find(written, at)
            if place < 0:
                break
            at = place + len(written)
            found.append((place, at))
        else:
            token.meta["cell"] = cell
            yield token, found


class _Block(TaggedText):
    """The inline text of a block, as tokens and back."""

    def __init__(self, token: Any, places: Sequence[tuple[int, int]], text: str) -> None:
        super().__init__(self._escaped)
        self.is_cell = bool(token.meta["cell"])
        self.emphasis: dict[int, str] = {}  # of each tag of emphasis: its HTML element
        # What stands before the text on each further line.
        self.breaks = iter(text[text.rfind("\n", 0, start) + 1 : start] for start, _ in places[1:])
        self._read(token.children)

    def _read(self, children: Sequence[Any]) -> None:
        pairs = _html_pairs(children)
        path: list[tuple[int, str]] = []  # the number and the end of each open element
        skipped, in_first_line = False, True
        for index, child in enumerate(children):
            kind, _, side = child.type.rpartition("_")
            if child.markup == "autolink":
                skipped = side == "open"
                if skipped:
                    self.add_tag("alone", index, f"<{children[index + 1].content}>")
            elif skipped:
                continue
            elif child.type == "text" and _ALERT.fullmatch(child.content):
                self.add_tag("alone", index, child.content)
            elif child.type == "text":
                end = 0
                for mark in _GITHUB.finditer(child.content):
                    self.add(child.content[end : mark.start()])
                    self.add_tag("alone", len(children) + len(self.raw), mark[0])
                    end = mark.end()
                self.add(child.content[end:])
            elif child.type == "text_special":
                self.add(child.content)
            elif child.type in ("softbreak", "hardbreak"):
                prefix = next(self.breaks, "")
                if child.type == "hardbreak":
                    self.add_tag("break", index, f"\\\n{prefix}")
                elif in_first_line and _is_heading(children[:index]):
                    self.add_tag("break", index, f"\n{prefix}")
                else:
                    self.add(" ")
                in_first_line = False
            elif side == "open":
                path.append((index, f"]{_address(child, 'href')}" if kind == "link" else child.markup))
                self.add_tag("start", index, "[" if kind == "link" else child.markup)
                if kind in _EMPHASIS:
                    self.emphasis[index] = _EMPHASIS[kind]
            elif side == "close":
                self.add_tag("end", *path.pop())
            elif index in pairs:
                first = min(index, pairs[index])
                self.add_tag("start" if index == first else "end", first, child.content)
            else:
                self.add_tag("alone", index, _alone(child))

    def _escaped(self, text: str) -> str:
        text = _SPECIAL.sub(r"\\\g<0>", text)
        return text.replace("|", "\\|") if self.is_cell else text

    def write(self, run: Sequence[Token]) -> str:
        """The run as Markdown; emphasis that CommonMark would not see there is written in HTML."""
        written = self._written(run)
        tags = [token for token in run if isinstance(token, Tag) and token.number in self.emphasis]
        expected = [f"{self.emphasis[tag.number]}_{'close' if tag.kind == 'end' else 'open'}" for tag in tags]
        found = [child.type for child in _inline(written, {}) if child.type.rpartition("_")[0] in _EMPHASIS]
        if not tags or found == expected:
            return written
        markdown = self.raw
        self.raw = markdown | {
            tag: f"<{'/' if tag.kind == 'end' else ''}{self.emphasis[tag.number]}>" for tag in tags
        }
        written, self.raw = self._written(run), markdown
        return written

    def _written(self, run: Sequence[Token]) -> str:
        written = super().write(run)
        begins = bool(run) and isinstance(run[0], str) and _starts(written)
        return _LINE_START.sub(r"\\", written, count=1) if begins else written


def _is_heading(line: Sequence[Any]) -> bool:
    """Whether the first line of a paragraph stands for itself: an alert of GitHub, or all of it is strong."""
    line = [child for child in line if child.content or child.type != "text"]
    kinds = [child.type for child in line]
    strong = kinds[:1] == ["strong_open"] and kinds[-1] == "strong_close" and kinds.count("strong_open") == 1
    return strong or (kinds == ["text"] and _ALERT.fullmatch(line[0].content) is not None)


def _starts(text: str) -> bool:
    match = _LINE_START.search(text[:12])
    return match is not None and (match.start() == 0 or text[: match.start()].isdigit())


def _address(child: Any, attribute: str) -> str:
    if label := child.meta.get("label"):  # in capitals, which means the same
        return f"[{label}]"
    address, title = str(child.attrs[attribute]), child.attrs.get("title")
    address = f"<{address}>" if re.search(r"[()\s]|^$", address) else address
    escaped = re.sub(r'(["\\])', r"\\\1", str(title)) if title else ""
    return f'({address} "{escaped}")' if title else f"({address})"


def _alone(child: Any) -> str:
    if child.type == "image":
        return f"![{child.content}]{_address(child, 'src')}"
    if child.type == "code_inline":
        space = " " if child.content[:1] == "`" or child.content[-1:] == "`" else ""
        return f"{child.markup}{space}{child.content}{space}{child.markup}"
    return str(child.content)


def _html_pairs(children: Sequence[Any]) -> dict[int, int]:
    """The partner of each tag of an HTML element, both ways; none crosses an element of the parser."""
    tags: list[tuple[str, str]] = []
    path = [-1]  # the parser's open elements
    for index, child in enumerate(children):
        if child.nesting < 0:
            path.pop()
        match = _HTML_TAG.match(child.content) if child.type == "html_inline" else None
        kind = "" if match is None else "end" if match[1] else "start"
        tags.append((kind, f"{path[-1]} {match[2].lower()}" if match else ""))
        if child.nesting > 0:
            path.append(index)
    return pair_tags(tags)
