"""Plain text, a paragraph a line, and subtitles in SRT and WebVTT."""

import html
import re
from collections.abc import Sequence

from translate.config.names import shorten
from translate.errors import UserError
from translate.serve.documents.document import Document, Placed, Tag, TaggedText, Token, decode, spanned

_LINE = re.compile(r"[^\r\n]+")
_TIMING = re.compile(
    r"^(?:[^\r\n]*-->[^\r\n]*(?>\r\n|\n|\r)"
    r"|(?P<wrong>[ \t]*+\d++:[\d:.,]++(?![^\r\n]*-->)[^\w\r\n]++\d++:[^\r\n]*+))",
    re.MULTILINE,
)
_CUE_END = re.compile(r"(?>\r\n|\n|\r)[ \t]*+(?:[\r\n]|\Z)|\Z")
_CUE_TAG = re.compile(r"<(/?)([A-Za-z]*)[^<>]*>|\{\\[^{}]*\}")
_SPEECH = re.compile(r"\s*[-–—]\s*(?=\S)")  # a line of one of several speakers


def read_plain(content: bytes, name: str) -> Document:
    """The lines of a text; each is a paragraph, so that lines stay lines."""
    text, encoding = decode(content, name)
    parts = []
    for match in _LINE.finditer(text):
        line = TaggedText()
        line.add(match[0])
        parts.append((match.span(), line))
    return spanned(text, parts, lambda written: written.encode(encoding))


def read_subtitles(content: bytes, name: str) -> Document:
    """The captions of an SRT or WebVTT file; times, numbers, settings and notes stay.

    The lines of a caption are read as one sentence, and its translation is broken into as many; lines of
    different speakers, which begin with a dash, are read one by one.
    """
    text, encoding = decode(content, name)
    is_web = text.lstrip("\ufeff").startswith("WEBVTT")
    cues: list[Placed] = []
    at = 0
    while timing := _TIMING.search(text, at):
        if timing["wrong"]:
            place, got = text.count("\n", 0, timing.start()) + 1, shorten(timing["wrong"])
            raise UserError(f"{name}: line {place}: expected 00:00:01,000 --> 00:00:02,000, got {got}")
        end = _CUE_END.search(text, timing.end())
        assert end is not None  # the end of the text is one
        at = max(end.start(), timing.end())
        cues += [(span, _Cue(text[slice(*span)], is_web)) for span in _speeches(text, timing.end(), at)]
    return spanned(text, cues, lambda written: written.encode(encoding))


def _speeches(text: str, start: int, stop: int) -> list[tuple[int, int]]:
    """The parts of a caption that are read on their own."""
    lines = [(start + match.start(), start + match.end()) for match in _LINE.finditer(text[start:stop])]
    dashes = [_SPEECH.match(text[slice(*line)]) for line in lines]
    if len(lines) > 1 and all(dashes):
        return [(a + dash.end(), b) for (a, b), dash in zip(lines, dashes, strict=True) if dash]
    return [(lines[0][0], lines[-1][1])] if lines else []


class _Cue(TaggedText):
    """The text of a caption, as tokens and back."""

    def __init__(self, text: str, is_web: bool) -> None:
        super().__init__((lambda text: html.escape(text, quote=False)) if is_web else str)
        self.is_web = is_web
        self.newline = next(iter(re.findall(r"\r\n|\n|\r", text)), "\n")
        self.num_lines = len(_LINE.findall(text))
        matches = list(_CUE_TAG.finditer(text))
        kinds = ["end" if match[1] else "start" if match[2] else "alone" for match in matches]
        names = [(kind, (match[2] or "").lower()) for kind, match in zip(kinds, matches, strict=True)]
        self.add_matches(text, matches, names)

    def add(self, text: str) -> None:
        """Add text, in which WebVTT has entities."""
        super().add(html.unescape(text) if self.is_web else text)

    def write(self, run: Sequence[Token]) -> str:
        """The lines of a run."""
        words: list[tuple[str, int]] = [("", 0)]  # with their tags, and their widths
        for token in run:
            for place, piece in enumerate([token] if isinstance(token, Tag) else re.split(r"\s+", token)):
                if place:
                    words.append(("", 0))
                shown, width = words[-1]
                if isinstance(piece, Tag):
                    words[-1] = shown + self.raw[piece], width
                else:
                    words[-1] = shown + self.escape(piece), width + len(piece)
        return self.newline.join(_balanced([word for word in words if word[0]], self.num_lines))


def _balanced(words: Sequence[tuple[str, int]], most: int) -> list[str]:
    """Words on ``most`` lines at most, of about the same width."""
    total = sum(width + 1 for _, width in words)
    lines: list[list[str]] = [[]]
    done = 0
    for shown, width in words:
        if lines[-1] and len(lines) < most and done + (width + 1) / 2 > total * len(lines) / most:
            lines.append([])
        lines[-1].append(shown)
        done += width + 1
    return [" ".join(line) for line in lines]
