"""What the characters of many sides are: looked up in tables, and counted together."""

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache

import numpy as np

from translate.text.words import UNSPACED

LETTER, DIGIT, SPACE, UNSPACED_LETTER, PLACEHOLDER, SUSPECT, UNUSUAL = (1 << bit for bit in range(7))
PLANE = 1 << 16  # characters of Unicode's first plane, which the tables know; others are looked up one by one
_ACCENTS = range(0x300, 0x370)
_SEPARATOR = "\n"  # between sides; normalised text has none
_DROPPED, _SLOW = 0xFFFE, 0xFFFF  # no characters, so marks in the table of forms


class Characters:
    """The characters of many sides, one after the other, and how many of which kind each side has.

    The kinds: ``LETTER`` for what a word consists of, digits apart; ``DIGIT``, ``SPACE``; ``UNSPACED_LETTER``
    for a word of its own; ``PLACEHOLDER`` for the marks with which placeholders begin, ``SUSPECT`` for those
    of text in a wrong encoding, and ``UNUSUAL`` for what normalising may change.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        self.ends = np.cumsum(self.lengths)
        self.begins = self.ends - self.lengths
        self.codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32)
        self.kinds = _looked_up(_kinds(), kind, self.codes)

    def is_a(self, kinds: int) -> np.ndarray:
        """Whether each character is of one of the kinds."""
        return np.asarray((self.kinds & kinds) != 0)

    def count(self, wanted: np.ndarray, most: int | None = None) -> np.ndarray:
        """How many wanted characters each side has, or its first ``most`` characters have."""
        sums = np.concatenate([[0], np.cumsum(wanted)])
        ends = self.ends if most is None else np.minimum(self.ends, self.begins + most)
        return np.asarray(sums[ends] - sums[self.begins])

    def in_ranges(self, ranges: str) -> np.ndarray:
        """Whether each character is of some ranges, written as between the brackets of a pattern."""
        return _looked_up(_table_of(ranges), lambda character: _in_ranges(character, ranges), self.codes)

    def has(self, kinds: int) -> np.ndarray:
        """Whether each side has a character of one of the kinds."""
        return self.count(self.is_a(kinds)) > 0

    def has_two(self, kinds: int) -> np.ndarray:
        """Whether each side has two of them side by side."""
        found = self.is_a(kinds)
        both = np.zeros(len(found), bool)
        both[:-1] = found[:-1] & found[1:]
        both[self.ends[self.lengths > 0] - 1] = False
        return self.count(both) > 0

    def is_usual(self) -> np.ndarray:
        """Whether each side is normalised for sure: nothing unusual, single spaces, and none at its ends."""
        spaces = self.is_a(SPACE)
        wrong = self.is_a(UNUSUAL)
        if len(spaces):
            wrong[1:] |= spaces[1:] & spaces[:-1]
            filled = self.lengths > 0
            for places in (self.begins[filled], self.ends[filled] - 1):
                wrong[places] |= spaces[places]
        return self.count(wrong) == 0


def parts_of(begins: np.ndarray, most: int) -> Iterator[slice]:
    """Parts of what begins at ``begins``, the last of which is the end of all: about ``most`` values each."""
    first = 0
    while first < len(begins) - 1:
        last = max(first + 1, int(np.searchsorted(begins, begins[first] + most, side="right")) - 1)
        yield slice(first, last)
        first = last


def kind(character: str) -> int:
    """The kinds of a character, as bits."""
    is_digit = character.isdecimal()
    found = LETTER * (character.isalnum() and not is_digit) | DIGIT * is_digit | SPACE * character.isspace()
    found |= UNSPACED_LETTER * _in_ranges(character, UNSPACED)
    found |= PLACEHOLDER * (character in "%{$<") | SUSPECT * (character in "\ufffdÃâÂ")
    return found | UNUSUAL * _may_change(character)


def _may_change(character: str) -> bool:
    """Whether a normalised text may lack the character: control, invisible, or no character by itself."""
    if character == " " or "!" <= character <= "~":
        return False
    if character in "\u00ad\u200b\u2060\ufeff" or not character.isprintable() or ord(character) >= PLANE:
        return True
    joins = unicodedata.category(character)[0] == "M" or "\u1100" <= character <= "\u11ff"
    return joins or unicodedata.normalize("NFC", character) != character


def _in_ranges(character: str, ranges: str) -> bool:
    return any(first <= ord(character) <= last for first, last in _spans(ranges))


@cache
def _spans(ranges: str) -> list[tuple[int, int]]:
    """The first and the last code of each range."""
    found, place = [], 0
    while place < len(ranges):
        is_range = ranges[place + 1 : place + 2] == "-"
        last = place + 2 if is_range else place
        found.append((ord(ranges[place]), ord(ranges[last])))
        place = last + 1
    return found


@cache
def _kinds() -> np.ndarray:
    return np.array([kind(chr(code)) for code in range(PLANE)], np.uint8)


@lru_cache(maxsize=16)
def _table_of(ranges: str) -> np.ndarray:
    found = np.zeros(PLANE, bool)
    for first, last in _spans(ranges):
        found[first : last + 1] = True
    return found


def _looked_up(table: np.ndarray, function: Callable[[str], int], codes: np.ndarray) -> np.ndarray:
    found = table[np.minimum(codes, PLANE - 1)]
    beyond = np.flatnonzero(codes >= PLANE)
    if len(beyond):
        found[beyond] = [function(chr(code)) for code in codes[beyond].tolist()]
    return np.asarray(found)


def usual_forms(texts: Sequence[str]) -> tuple[list[str], np.ndarray]:
    """The forms of normalised sides, and which of them have characters that only ``row_keys.form`` knows.

    The form of the others is the form of each character, but that the digits of a number are one 0, and that
    what stands between words is one space.
    """
    joined = _SEPARATOR.join([*texts, ""])
    codes = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32)
    found = _forms()[np.minimum(codes, PLANE - 1)]
    separators = found == ord(_SEPARATOR)
    slow = (found == _SLOW) | (codes >= PLANE)
    sums = np.concatenate([[0], np.cumsum(slow)])
    ends = np.flatnonzero(separators)
    is_slow = np.diff(sums[ends], prepend=0) > 0
    left = found[found != _DROPPED]
    again = np.zeros(len(left), bool)
    again[1:] = (left[1:] == left[:-1]) & ((left[1:] == ord("0")) | (left[1:] == ord(" ")))
    left = left[~again]
    spaces, separators = left == ord(" "), left == ord(_SEPARATOR)
    outside = spaces.copy()
    outside[1:] &= separators[:-1]
    outside[:-1] |= spaces[:-1] & separators[1:]
    text = left[~outside].astype(np.uint16).tobytes().decode("utf-16-le", "replace")
    return text.split(_SEPARATOR)[:-1], is_slow


@cache
def _forms() -> np.ndarray:
    """The form of each character; digits are 0, and what is no part of a word is a space."""
    return np.array([_form(chr(code)) for code in range(PLANE)], np.uint16)


def _form(character: str) -> int:
    if character == _SEPARATOR:
        return ord(_SEPARATOR)
    parts = unicodedata.normalize("NFD", character.casefold())
    parts = "".join(part for part in parts if ord(part) not in _ACCENTS)
    if not parts:
        return _DROPPED
    if len(parts) > 1 or ord(parts) >= PLANE or unicodedata.category(parts)[0] in "MC":
        return _SLOW
    if parts.isdecimal():
        return ord("0")
    return ord(parts) if parts.isalnum() else ord(" ")
