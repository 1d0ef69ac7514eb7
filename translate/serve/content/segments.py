"""A text as its sentences, and its translation put together with the white space between them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

Split = Callable[[str], Sequence[tuple[int, int]]]


@dataclass(frozen=True)
class Segmented:
    """A text, and the spans of its sentences, which are not blank."""

    text: str
    spans: tuple[tuple[int, int], ...]

    @property
    def sentences(self) -> list[str]:
        """The text of each sentence."""
        return [self.text[start:end] for start, end in self.spans]

    def join(self, translations: Sequence[str]) -> tuple[str, list[int]]:
        """The translation, with the white space of the text between sentences, and where each begins."""
        parts, starts, end, length = [], [], 0, 0
        for (start, stop), translation in zip(self.spans, translations, strict=True):
            for part in (self.text[end:start], translation):
                parts.append(part)
                length += len(part)
            starts.append(length - len(translation))
            end = stop
        return "".join([*parts, self.text[end:]]), starts


def whole(text: str) -> Segmented:
    """The text as one sentence, with the white space around it."""
    return Segmented(text, ((0, len(text)),) if text else ())


def lines(text: str) -> Segmented:
    """Each line that is not blank as a sentence."""
    return Segmented(text, tuple(_lines(text)))


def sentences(text: str, split: Split) -> Segmented:
    """The sentences of each line."""
    spans = []
    for first, last in _lines(text):
        line = text[first:last]
        for start, end in split(line):
            inner = line[start:end]
            begin = start + len(inner) - len(inner.lstrip())
            stop = start + len(inner.rstrip())
            if stop > begin:
                spans.append((first + begin, first + stop))
    return Segmented(text, tuple(spans))


def _lines(text: str) -> list[tuple[int, int]]:
    """The spans of the lines that are not blank, without the white space around them."""
    spans, start = [], 0
    for line in text.split("\n"):
        stripped = line.strip()
        if stripped:
            begin = start + len(line) - len(line.lstrip())
            spans.append((begin, begin + len(stripped)))
        start += len(line) + 1
    return spans
