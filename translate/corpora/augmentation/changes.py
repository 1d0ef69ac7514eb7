"""The changes of a pair: each gives another pair, whose links are right again."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from translate.corpora.augmentation.linked_pair import (
    LinkedPair,
    LinkedPhrase,
    PairToken,
    inserted,
    phrase_at,
)

PLACEHOLDERS = ("{0}", "{1}", "{name}", "%s", "%d")
TAGS = ("b", "i", "g", "a")
TERM, END_OF_TERM = "<term>", "</term>"
LONGEST_PHRASE = 3  # words of a term, or between two tags
LONGEST_PLACEHOLDERS = 2  # of a pair
SHORTEST_TYPO = 4  # letters of a word that may get a typing error
TRIES = 8  # places that are looked at for a phrase
_KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")


def upper(pair: LinkedPair) -> LinkedPair:
    """Both sides in capitals."""
    return _each_word(pair, str.upper)


def title(pair: LinkedPair) -> LinkedPair:
    """Both sides with a capital at the start of each word."""
    return _each_word(pair, lambda word: word[:1].upper() + word[1:])


def _each_word(pair: LinkedPair, change: Callable[[str], str]) -> LinkedPair:
    source, target = (
        tuple(token if token.fixed else token._replace(text=change(token.text)) for token in side)
        for side in (pair.source, pair.target)
    )
    return replace(pair, source=source, target=target)


def typos(pair: LinkedPair, probability: float, draw: Random) -> LinkedPair:
    """Each source word of some letters gets a typing error with a probability: the target stays."""
    source = []
    for token in pair.source:
        long = not token.fixed and len(token.text) >= SHORTEST_TYPO and token.text.isalpha()
        if long and draw.random() < probability:
            token = token._replace(text=_mistyped(token.text, draw))
        source.append(token)
    return replace(pair, source=tuple(source))


def _mistyped(word: str, draw: Random) -> str:
    """The word with two letters exchanged, one left out, one doubled, or a neighbouring key in its place."""
    kind, place = draw.randrange(4), draw.randrange(len(word) - 1)
    if kind == 0:
        return word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    if kind == 1:
        return word[:place] + word[place + 1 :]
    if kind == 2:
        return word[: place + 1] + word[place:]
    row = next((row for row in _KEYBOARD if word[place] in row), None)
    if row is None:
        return word[:place] + word[place + 1 :]
    at = row.index(word[place])
    return word[:place] + draw.choice(row[max(at - 1, 0) : at] + row[at + 1 : at + 2]) + word[place + 1 :]


def merged(first: LinkedPair, second: LinkedPair) -> LinkedPair:
    """Two pairs as one; the tag of the second is left out."""
    if tag := len(_tag_of(second)):
        kept = frozenset((s - tag, t) for s, t in second.links if s >= tag)
        second = LinkedPair(second.source[tag:], second.target, kept)
    sides = []
    for one, other in ((first.source, second.source), (first.target, second.target)):
        sides.append(
            (*one, *(token._replace(before=" ") if not n else token for n, token in enumerate(other)))
        )
    moved = {(s + len(first.source), t + len(first.target)) for s, t in second.links}
    return LinkedPair(sides[0], sides[1], first.links | moved)


def copied(pair: LinkedPair) -> LinkedPair:
    """The source is a copy of the target (Currey et al. 2017), and every word is linked to itself."""
    tag = _tag_of(pair)
    words = [token._replace(before=" ") if tag and not n else token for n, token in enumerate(pair.target)]
    links = frozenset((t + len(tag), t) for t in range(len(words)))
    return LinkedPair((*tag, *words), pair.target, links)


def _tag_of(pair: LinkedPair) -> tuple[PairToken, ...]:
    """The tag before the source, if there is one."""
    first = pair.source[:1]
    return first if first and first[0].fixed and first[0].text.startswith("<") else ()


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
    # What stood before the first word now stands before the tag.
    found, here, there = inserted(_preceded(pair, phrase, " " if spaced else ""), *sides)
    return replace(found, links=found.links | set(zip(here, there, strict=True)))


def _preceded(pair: LinkedPair, phrase: LinkedPhrase, before: str) -> LinkedPair:
    """The pair with ``before`` in front of the phrase, on both sides."""
    source, target = list(pair.source), list(pair.target)
    source[phrase.i] = source[phrase.i]._replace(before=before)
    target[phrase.k] = target[phrase.k]._replace(before=before)
    return replace(pair, source=tuple(source), target=tuple(target))


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
    """Whether both sides begin and end with a word of letters, and are unchanged so far."""
    for tokens in (pair.source[phrase.i : phrase.j], pair.target[phrase.k : phrase.l]):
        if any(token.fixed for token in tokens) or len(tokens) > LONGEST_PHRASE:
            return False
        if not (tokens[0].text[:1].isalpha() and tokens[-1].text[:1].isalpha()):
            return False
    return max(len(token.text) for token in pair.source[phrase.i : phrase.j]) >= SHORTEST_TYPO


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
    """What a tokenizer must know for changes of these names, as text."""
    known = {
        "placeholders": " ".join(PLACEHOLDERS),
        "tags": " ".join(f"<{name}> </{name}>" for name in TAGS),
        "terms": f"{TERM} {END_OF_TERM}",
    }
    return " ".join(known[name] for name in names if name in known)
