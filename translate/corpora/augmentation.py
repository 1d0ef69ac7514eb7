"""Other versions of training pairs, which differ from epoch to epoch, with the links of their words.

A change gives another pair, whose links are right again. The seed, the epoch and the order of the pairs
decide the changes, so a resumed run draws the same.
"""

from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from random import Random
from typing import NamedTuple

import numpy as np

from translate.config.training import AugmentConfig
from translate.links.links import Links
from translate.text.lines import evenly
from translate.text.words import Word, split_words, tags_before, whitespace_words

KEY = 7  # of all random numbers of augmentation, which differ from those of sampled pieces
SHOWN_MARKS = 50  # lines of a corpus to one that shows the marks to a tokenizer
SHOWN_CASES = 10  # lines of a corpus to one in other letters
PLACEHOLDERS = ("{0}", "{1}", "{name}", "%s", "%d")
TAGS = ("b", "i", "g", "a")
TERM, END_OF_TERM = "<term>", "</term>"
LONGEST_PHRASE = 3  # words of a term, or between two tags
LONGEST_PLACEHOLDERS = 2  # of a pair
SHORTEST_TYPO = 4  # letters of a word that may get a typing error
MOST_MERGED = 60  # words of a side of two merged pairs; longer ones stay apart
TRIES = 8  # places that are looked at for a phrase
DRAWN = ("merge", "terms", "placeholders", "tags", "uppercase", "titlecase")


class PairToken(NamedTuple):
    """A word, or markup that stands for one.

    Attributes:
        before: a space that separates it from the token before, or nothing.
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
    """The tokens of a text; anything behind the last word is left out."""
    starts = [0, *(word.end for word in words)]
    return tuple(PairToken(word.text, text[begin : word.start]) for begin, word in zip(starts, words))


def text_of(tokens: Sequence[PairToken]) -> tuple[str, list[Word]]:
    """The text of the tokens, and all of them as words with their places."""
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
        befores = [index for index, _ in added]
        places = [index + number for number, index in enumerate(befores)]
        moved = [index + bisect_right(befores, index) for index in range(len(tokens))]  # of the old tokens
        new = dict(zip([*places, *moved], [*(token for _, token in added), *tokens], strict=True))
        sides.append((tuple(new[place] for place in range(len(new))), moved, places))
    (first, here, at), (second, there, on) = sides
    links = frozenset((here[s], there[t]) for s, t in pair.links)
    return LinkedPair(first, second, links), at, on


Read = Callable[[int], LinkedPair]


@dataclass(frozen=True)
class Augmenter:
    """Draws the changes of pairs.

    Attributes:
        config: the probability of each change.
        whitespace: whether words are split at white space alone; markup then has spaces around it.
        tags: words that a mixture writes before its sources, such as ``<own>``.
    """

    config: AugmentConfig
    whitespace: bool = False
    tags: Collection[str] = ()

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
            second = read(other)
            both = merged(pair, second)
            alike = _tag_of(pair) == _tag_of(second)  # with another tag it may be of another language
            if alike and max(len(both.source), len(both.target)) <= MOST_MERGED:
                pair = both
        if wanted["terms"]:
            pair = terms(pair, draw)
        if wanted["placeholders"]:
            pair = placeholders(pair, draw)
        if wanted["tags"]:
            pair = tags(pair, draw, spaced=self.whitespace)
        if wanted["uppercase"]:
            pair = upper(pair)
        elif wanted["titlecase"]:
            pair = title(pair)
        return typos(pair, self.config.typos, draw) if self.config.typos else pair

    def tokenizer_lines(self, lines: Sequence[str], characters: int) -> Sequence[str]:
        """The lines that a tokenizer is trained on: the corpus, with other letters and marks as they occur.

        Args:
            lines: of one side of the corpus.
            characters: about this number of them is enough.
        """
        cases = [change for name, change in CASES.items() if getattr(self.config, name)]
        shown_marks = marks([name for name in DRAWN if getattr(self.config, name)])
        if not cases and not shown_marks:
            return lines
        chosen = list(evenly(lines, characters))
        shown = chosen[::SHOWN_CASES] if cases else []
        changed = (change(LinkedPair(self.tokens(line), ())) for line, change in zip(shown, cycle(cases)))
        other = [text_of(pair.source)[0] for pair in changed]
        return [*chosen, *other, *([shown_marks] * (1 + len(chosen) // SHOWN_MARKS) if shown_marks else [])]

    def tokens(self, line: str) -> tuple[PairToken, ...]:
        """The words of a line. The tag before them is fixed."""
        tag = tags_before(line, self.tags)[:1]
        rest = line[tag[0].end :] if tag else line
        tokens = tokens_of(rest, whitespace_words(rest) if self.whitespace else split_words(rest))
        return (*(PairToken(word.text, fixed=True) for word in tag), *tokens)


def upper(pair: LinkedPair) -> LinkedPair:
    """Both sides in capitals."""
    return _with_words(pair, str.upper)


def title(pair: LinkedPair) -> LinkedPair:
    """Both sides with a capital at the start of every word; the *s* of *it's* stays."""
    return _with_words(pair, lambda word: word[:1].upper() + word[1:], starts=True)


CASES = {"uppercase": upper, "titlecase": title}


def _with_words(pair: LinkedPair, change: Callable[[str], str], *, starts: bool = False) -> LinkedPair:
    def changed(token: PairToken, is_first: bool) -> PairToken:
        stays = token.fixed or (starts and not (token.before or is_first))
        return token if stays else token._replace(text=change(token.text))

    source, target = (
        tuple(changed(token, token is side[0]) for token in side) for side in (pair.source, pair.target)
    )
    return replace(pair, source=source, target=target)


def typos(pair: LinkedPair, probability: float, draw: Random) -> LinkedPair:
    """Source words of some letters get a typing error with a probability; the target stays."""
    source = []
    for token in pair.source:
        long = not token.fixed and len(token.text) >= SHORTEST_TYPO and token.text.isalpha()
        if long and draw.random() < probability:
            token = token._replace(text=_mistyped(token.text, draw))
        source.append(token)
    return replace(pair, source=tuple(source))


def _mistyped(word: str, draw: Random) -> str:
    """The word with two letters exchanged, one left out, or one doubled."""
    kind, place = draw.randrange(3), draw.randrange(len(word) - 1)
    first, second = word[place], word[place + 1]
    return word[:place] + (second + first, second, first + first + second)[kind] + word[place + 2 :]


def merged(first: LinkedPair, second: LinkedPair) -> LinkedPair:
    """Two pairs as one; the tag of the second is left out."""
    if tag := len(_tag_of(second)):
        kept = frozenset((s - tag, t) for s, t in second.links if s >= tag)
        second = LinkedPair(second.source[tag:], second.target, kept)
    moved = {(s + len(first.source), t + len(first.target)) for s, t in second.links}
    source, target = (*first.source, *_after(second.source)), (*first.target, *_after(second.target))
    return LinkedPair(source, target, first.links | moved)


def _after(tokens: Sequence[PairToken]) -> list[PairToken]:
    """The tokens of a side that follows others."""
    return [token._replace(before=" ") if not number else token for number, token in enumerate(tokens)]


def _tag_of(pair: LinkedPair) -> tuple[PairToken, ...]:
    """The tag before the source, if there is one."""
    first = pair.source[:1]
    return first if first and first[0].fixed else ()


def placeholders(pair: LinkedPair, draw: Random) -> LinkedPair:
    """One or two pairs of words that are linked to each other alone become placeholders of the same name."""
    count = draw.randint(1, LONGEST_PLACEHOLDERS)
    names = draw.sample(PLACEHOLDERS, count)
    words = [(p.i, p.k) for p in _phrases(pair, 1, draw) if p.l == p.k + 1]
    source, target = list(pair.source), list(pair.target)
    for (s, t), name in zip(words[:count], names, strict=False):
        source[s] = source[s]._replace(text=name, fixed=True)
        target[t] = target[t]._replace(text=name, fixed=True)
    return replace(pair, source=tuple(source), target=tuple(target))


def tags(pair: LinkedPair, draw: Random, *, spaced: bool) -> LinkedPair:
    """A phrase and its translation between the same tags, which are linked to each other.

    Args:
        spaced: whether white space separates tags from words, as in tokenised corpora.
    """
    phrases = _phrases(pair, LONGEST_PHRASE, draw)
    if not phrases:
        return pair
    name, phrase = draw.choice(TAGS), phrases[0]
    spans = (pair.source, phrase.i, phrase.j), (pair.target, phrase.k, phrase.l)
    sides = []
    for tokens, begin, end in spans:
        opening = PairToken(f"<{name}>", tokens[begin].before, fixed=True)
        sides.append([(begin, opening), (end, PairToken(f"</{name}>", " " if spaced else "", fixed=True))])
    # The space before the first word now stands before the tag.
    source, target = list(pair.source), list(pair.target)
    source[phrase.i] = source[phrase.i]._replace(before=" " if spaced else "")
    target[phrase.k] = target[phrase.k]._replace(before=" " if spaced else "")
    found, here, there = inserted(LinkedPair(tuple(source), tuple(target), pair.links), *sides)
    return replace(found, links=found.links | set(zip(here, there, strict=True)))


def terms(pair: LinkedPair, draw: Random) -> LinkedPair:
    """A source phrase followed by its translation, in marks: glossary training (Dinu et al. 2019).

    ``the house`` becomes ``the house <term> maison </term>``; the target stays, and its words are also linked
    to the translation in the source.
    """
    found = (p for p in _phrases(pair, LONGEST_PHRASE, draw) if _is_term(pair, p))
    phrase = next(found, None)
    if phrase is None:
        return pair
    words = [token._replace(fixed=True) for token in pair.target[phrase.k : phrase.l]]
    words[0] = words[0]._replace(before=" ")
    marked = [PairToken(TERM, " ", fixed=True), *words, PairToken(END_OF_TERM, " ", fixed=True)]
    changed, here, _ = inserted(pair, [(phrase.j, token) for token in marked], [])
    links = {(place, phrase.k + number) for number, place in enumerate(here[1:-1])}
    return replace(changed, links=changed.links | links)


def _is_term(pair: LinkedPair, phrase: LinkedPhrase) -> bool:
    """Whether both sides are short, and begin and end with a word of letters."""
    sides = pair.source[phrase.i : phrase.j], pair.target[phrase.k : phrase.l]
    are_short = all(len(tokens) <= LONGEST_PHRASE for tokens in sides)
    ends = (token.text[:1] for tokens in sides for token in (tokens[0], tokens[-1]))
    longest = max(len(token.text) for token in sides[0])
    return are_short and all(map(str.isalpha, ends)) and longest >= SHORTEST_TYPO


def _phrases(pair: LinkedPair, longest: int, draw: Random) -> list[LinkedPhrase]:
    """Some phrases at random places, which do not overlap and hold nothing fixed."""
    found: list[LinkedPhrase] = []
    for _ in range(TRIES if pair.source else 0):
        length = draw.randint(1, longest)
        i = draw.randrange(len(pair.source))
        j = min(i + length, len(pair.source))
        phrase = phrase_at(pair, i, j)
        if phrase is None or phrase.l - phrase.k > 2 * LONGEST_PHRASE:
            continue
        tokens = (*pair.source[i:j], *pair.target[phrase.k : phrase.l])
        taken = any(i < other.j and other.i < j for other in found)
        letters = any(token.text[:1].isalnum() for token in tokens)
        if letters and not taken and not any(token.fixed for token in tokens):
            found.append(phrase)
    return found


def marks(names: Sequence[str]) -> str:
    """The marks that a tokenizer must know for changes of these names, as text."""
    known = {
        "placeholders": " ".join(PLACEHOLDERS),
        "tags": " ".join(f"<{name}> </{name}>" for name in TAGS),
        "terms": f"{TERM} {END_OF_TERM}",
    }
    return " ".join(known[name] for name in names if name in known)
