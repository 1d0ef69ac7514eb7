"""The input of every figure: words of both sides with a matrix of weights, words as labels, and the style."""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from translate.errors import UserError

if TYPE_CHECKING:  # the command line asks for the style without waiting for numpy
    import numpy as np

_LONGEST_LABEL = 32  # characters
_ESCAPED = ("Cc", "Cs", "Zl", "Zp", "Cn")  # categories that would break the line or cannot be drawn
_REORDERING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # would move other words


class WordMatrix(Protocol):
    """The weights of an alignment: a row for each target word, a column for each source word.

    Attributes:
        weights: (T words, S words), from 0 to 1.
        method: a caption for the weights; empty if unknown.
    """

    @property
    def source_words(self) -> Sequence[str]: ...

    @property
    def target_words(self) -> Sequence[str]: ...

    @property
    def weights(self) -> "np.ndarray": ...

    @property
    def method(self) -> str: ...


@dataclass(frozen=True)
class Style:
    """The look of a figure; by default it is made for paper.

    Attributes:
        colours: name of a matplotlib colour map. `gray_r` is white for 0; `gray` is black, as in Bahdanau et
            al. 2015.
        font: an installed family; letters that it lacks are drawn in others.
        size: of the words, in points; cells keep their proportion to them. By default 11 for few words to 8
            for many.
    Raises:
        UserError: for a size that is not from 3 to 40 points.
    """

    colours: str = "gray_r"
    font: str = "DejaVu Sans"  # comes with matplotlib
    size: float | None = None

    def __post_init__(self) -> None:
        if self.size is not None and not 3 <= self.size <= 40:
            raise UserError(f"font size of a figure: {self.size:g}; expected 3 to 40 points")


PRINT = Style()


def label(text: str, longest: int = _LONGEST_LABEL) -> str:
    """The text as a label on one line.

    Control characters are escaped, the middle of a long text is left out, and a combining mark without a
    letter before it stands on a dotted circle.
    """
    escaped = "".join(
        character.encode("unicode_escape").decode()
        if unicodedata.category(character) in _ESCAPED or character in _REORDERING
        else character
        for character in text
    )
    if escaped and unicodedata.category(escaped[0]) in ("Mn", "Mc", "Me"):
        escaped = "\u25cc" + escaped
    if len(escaped) > longest:
        half = longest // 2
        return f"{escaped[:half]}…{escaped[1 - half :]}"
    return escaped


def is_right_to_left(words: Iterable[str]) -> bool:
    """Whether most letters of the words are written from right to left, as in Arabic and Hebrew."""
    directions = [unicodedata.bidirectional(character) for word in words for character in word]
    return sum(direction in ("R", "AL") for direction in directions) > directions.count("L")
