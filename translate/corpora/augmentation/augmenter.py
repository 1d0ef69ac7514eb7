"""Which changes a pair gets, drawn by the seed, the epoch and the pair: a resumed run draws the same."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from translate.config.training import AugmentConfig
from translate.corpora.augmentation import changes
from translate.corpora.augmentation.linked_pair import LinkedPair, PairToken, text_of, tokens_of
from translate.text.lines import evenly
from translate.text.words import split_words, whitespace_words

KEY = 7  # of all random numbers of augmentation, which differ from those of sampled pieces
SHOWN_MARKS = 50  # lines of a corpus to one that shows the marks to a tokenizer
SHOWN_CASES = 10  # lines of a corpus to one in other letters

_TAG = re.compile(r"<[^\s<>/]+>(?=\s)")

Read = Callable[[int], LinkedPair]


@dataclass(frozen=True)
class Augmenter:
    """Draws the changes of pairs.

    Attributes:
        config: the probability of each change.
        whitespace: whether words are split at white space alone; markup then has spaces around it.
    """

    config: AugmentConfig
    whitespace: bool = False

    def pair(self, read: Read, place: int, count: int, key: Sequence[int]) -> LinkedPair | None:
        """A version of a pair; ``None`` if it stays as it is, so that it need not be read.

        Args:
            read: a pair by its place in the block.
            place: of the pair.
            count: pairs of the block, among which another one is drawn for a merge.
            key: numbers that decide what is drawn: the seed, the epoch and the pair.
        """
        draw = Random(int(np.random.SeedSequence([*key, KEY]).generate_state(1, np.uint64)[0]))
        # All are drawn at once, so that the draws of one change do not depend on others.
        wanted = {name: draw.random() < getattr(self.config, name) for name in DRAWN}
        other = draw.randrange(count)
        if not any(wanted.values()) and not self.config.typos:
            return None
        old = read(place)
        new = self._changed(old, read, other, wanted, draw)
        return None if new == old else new

    def _changed(
        self, pair: LinkedPair, read: Read, other: int, wanted: dict[str, bool], draw: Random
    ) -> LinkedPair:
        if wanted["merge"]:
            both = changes.merged(pair, read(other))
            if max(len(both.source), len(both.target)) <= self.config.merge_words:
                pair = both
        if wanted["copies"]:
            return changes.copied(pair)
        if wanted["terms"]:
            pair = changes.terms(pair, draw)
        if wanted["placeholders"]:
            pair = changes.placeholders(pair, draw)
        if wanted["tags"]:
            pair = changes.tags(pair, draw, spaced=self.whitespace)
        if wanted["uppercase"]:
            pair = changes.upper(pair)
        elif wanted["titlecase"]:
            pair = changes.title(pair)
        return changes.typos(pair, self.config.typos, draw) if self.config.typos else pair

    def tokenizer_lines(self, lines: Sequence[str], characters: int) -> Sequence[str]:
        """The lines that a tokenizer is trained on: the corpus, with other letters and marks as they occur.

        Args:
            lines: of one side of the corpus.
            characters: about so many of them are enough.
        """
        cases = [name for name in ("uppercase", "titlecase") if getattr(self.config, name)]
        marks = changes.marks([name for name in DRAWN if getattr(self.config, name)])
        if not cases and not marks:
            return lines
        chosen = list(evenly(lines, characters))
        shown = chosen[::SHOWN_CASES] if cases else []
        other = [self._in_case(line, cases[number % len(cases)]) for number, line in enumerate(shown)]
        return [*chosen, *other, *([marks] * (1 + len(chosen) // SHOWN_MARKS) if marks else [])]

    def _in_case(self, line: str, case: str) -> str:
        tokens = self.tokens(line)
        change = changes.upper if case == "uppercase" else changes.title
        return text_of(change(LinkedPair(tokens, ())).source)[0]

    def tokens(self, line: str) -> tuple[PairToken, ...]:
        """The words of a line. A tag before them, such as that of a corpus in a mixture, is fixed."""
        tag = _TAG.match(line)
        rest = line[tag.end() :] if tag else line
        tokens = tokens_of(rest, whitespace_words(rest) if self.whitespace else split_words(rest))
        return (PairToken(tag[0], fixed=True), *tokens) if tag else tokens


DRAWN = ("merge", "copies", "terms", "placeholders", "tags", "uppercase", "titlecase")
