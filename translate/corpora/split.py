"""Parallel sentences and their gold links."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from translate.aligner.links import parse_gold
from translate.errors import UserError

_LINK = re.compile(r"(\d+)([-p])(\d+)")


@dataclass(frozen=True)
class Split:
    """Parallel sentences.

    Attributes:
        gold: a Pharaoh line for each pair ("0-0 1p2"), if links are known.
        numbers: the indexes of the pairs before some were left out; ``None`` if all are there.
    """

    source: list[str]
    target: list[str]
    gold: list[str] | None = None
    numbers: list[int] | None = field(default=None, compare=False)

    def __len__(self) -> int:
        return len(self.source)

    def take(self, indices: Iterable[int]) -> "Split":
        """The pairs at ``indices``, in that order."""
        chosen = list(indices)
        gold = None if self.gold is None else [self.gold[i] for i in chosen]
        numbers = chosen if self.numbers is None else [self.numbers[i] for i in chosen]
        return Split([self.source[i] for i in chosen], [self.target[i] for i in chosen], gold, numbers)

    def swapped(self) -> "Split":
        """The split with source and target exchanged, also in the gold links."""
        gold = None if self.gold is None else [_LINK.sub(r"\3\2\1", line) for line in self.gold]
        return Split(self.target, self.source, gold, self.numbers)


@dataclass(frozen=True)
class RawCorpus:
    """A corpus as it was read, before it is filtered."""

    source_language: str
    target_language: str
    splits: dict[str, Split]  # train; validation and test if there are any
    notes: tuple[str, ...] = ()  # sentences for the user about choices that reading made


def check_gold(split: Split, where: str) -> None:
    """Raise ``UserError`` unless ``split.gold`` holds one valid line of links for each pair.

    Links index the words between white space, from 0.
    """
    if split.gold is None:
        return
    if len(split.gold) != len(split):
        raise UserError(
            f"{where}: {len(split.gold)} lines of gold links for {len(split)} sentence pairs; "
            f"expected one line for each pair"
        )
    for number, (line, source, target) in enumerate(zip(split.gold, split.source, split.target), start=1):
        parse_gold(
            line,
            where=f"{where}, line {number}",
            source_length=len(source.split()),
            target_length=len(target.split()),
        )
