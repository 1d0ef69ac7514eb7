"""A sentence pair as words with links, which changes keep right."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from translate.links.links import Links
from translate.text.words import Word


class PairToken(NamedTuple):
    """A word, or markup that stands for one.

    Attributes:
        before: what separates it from the token before: a space, or nothing.
        fixed: whether no change may alter it.
    """

    text: str
    before: str = ""
    fixed: bool = False


@dataclass(frozen=True)
class LinkedPair:
    """The tokens of both sides; links count tokens from 0."""

    source: tuple[PairToken, ...]
    target: tuple[PairToken, ...]
    links: Links = frozenset()


class LinkedPhrase(NamedTuple):
    """Source words [i, j) and target words [k, l) that are linked to each other and to no others."""

    i: int
    j: int
    k: int
    l: int  # noqa: E741 (as in the literature)


def tokens_of(text: str, words: Sequence[Word]) -> tuple[PairToken, ...]:
    """The tokens of a text; what stands behind the last word is left out."""
    starts = [0, *(word.end for word in words)]
    return tuple(
        PairToken(word.text, text[begin : word.start]) for begin, word in zip(starts, words, strict=False)
    )


def text_of(tokens: Sequence[PairToken]) -> tuple[str, list[Word]]:
    """The text of the tokens, and each of them as a word with its place."""
    parts, words, length = [], [], 0
    for number, token in enumerate(tokens):
        before = token.before if number else ""
        start = length + len(before)
        length = start + len(token.text)
        parts += [before, token.text]
        words.append(Word(token.text, start, length))
    return "".join(parts), words


def phrase_at(pair: LinkedPair, i: int, j: int) -> LinkedPhrase | None:
    """The phrase of source words [i, j), if they are linked to no word outside of one (Och et al. 1999)."""
    targets = [target for source, target in pair.links if i <= source < j]
    if not targets:
        return None
    k, l = min(targets), max(targets) + 1  # noqa: E741
    if any(k <= target < l and not i <= source < j for source, target in pair.links):
        return None
    return LinkedPhrase(i, j, k, l)


def inserted(
    pair: LinkedPair, source: Sequence[tuple[int, PairToken]], target: Sequence[tuple[int, PairToken]]
) -> tuple[LinkedPair, list[int], list[int]]:
    """The pair with tokens inserted before others, and the places where they stand now.

    Args:
        source, target: (index of the token that it goes before, the token), in their order.
    """
    sides = []
    for tokens, added in ((pair.source, source), (pair.target, target)):
        new: list[PairToken] = []
        moved: list[int] = []  # where each old token stands
        places: list[int] = []
        waiting = list(added)
        for index in range(len(tokens) + 1):
            while waiting and waiting[0][0] == index:
                places.append(len(new))
                new.append(waiting.pop(0)[1])
            if index < len(tokens):
                moved.append(len(new))
                new.append(tokens[index])
        sides.append((tuple(new), moved, places))
    (first, here, at), (second, there, on) = sides
    links = frozenset((here[s], there[t]) for s, t in pair.links)
    return LinkedPair(first, second, links), at, on
