"""A source line with an image: `![](IMAGE) SENTENCE` as in Markdown, or IMAGE, a tab, SENTENCE.

Either part may be missing. IMAGE is a file, or a scene that is described; signs that would end it are
percent-encoded.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from translate.config.data import MAX_PATCHES

_LINE = re.compile(r"!\[[^\]]*\]\(([^()]*)\)[ \t]*(.*)", re.DOTALL)
_CODED = {sign: f"%{ord(sign):02X}" for sign in "%()\n\r\t\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029<>"}
_CODES = {code: sign for sign, code in _CODED.items()}
_CODE = re.compile("|".join(map(re.escape, _CODES)))


class SourceLine(NamedTuple):
    """The parts of a source line.

    Attributes:
        image: a file or a description; ``None`` without an image.
        sentence: may be empty.
        start: where the sentence begins in the line.
    """

    image: str | None
    sentence: str
    start: int = 0


def join_line(image: str | None, sentence: str = "") -> str:
    """The line of an image and a sentence."""
    if image is None:
        return sentence
    coded = "".join(_CODED.get(sign, sign) for sign in image)
    return f"![]({coded}) {sentence}".rstrip(" ")


def split_line(line: str) -> SourceLine:
    """The inverse of :func:`join_line`; a line that does not begin with an image is a sentence."""
    found = _LINE.fullmatch(line.lstrip())
    if found is None:
        name, tab, sentence = line.partition("\t")
        return SourceLine(name.strip() or None, sentence, len(name) + 1) if tab else SourceLine(None, line)
    image = _CODE.sub(lambda code: _CODES[code.group()], found.group(1))
    return SourceLine(image or None, found.group(2), len(line) - len(found.group(2)))


def sentences_of(lines: Sequence[str]) -> list[str]:
    """The sentences of source lines, without their images."""
    return [split_line(line).sentence for line in lines]


def most_words(line: str) -> int:
    """The words of a line; those of an image are its patches, whose number only the run knows."""
    parts = split_line(line)
    return len(parts.sentence.split()) + (MAX_PATCHES if parts.image is not None else 0)
