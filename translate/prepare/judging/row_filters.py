"""Why a pair is dropped by a look at it alone: length, characters, language, numbers, placeholders."""

import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from translate.corpora.filters import count_words
from translate.prepare.judging.characters import (
    DIGIT,
    LETTER,
    PLACEHOLDER,
    SPACE,
    SUSPECT,
    UNSPACED_LETTER,
    Characters,
)
from translate.prepare.judging.language import letters_of
from translate.prepare.recipe import FilterConfig

# Every reason in the order in which they are tried, and what it says of the pairs.
REASONS = {
    "empty": "with an empty side",
    "too_long": "longer than filters.max_words",
    "long_word": "with a word longer than filters.max_word_length",
    "ratio": "over filters.max_ratio",
    "letters": "with a smaller share of letters than filters.min_letters",
    "script": "in another script (filters.min_script)",
    "damaged": "in a wrong encoding, or with lost characters",
    "identical": "with source equal to target",
    "placeholders": "with other placeholders or tags on each side",
    "numbers": "with other numbers on each side (filters.numbers)",
    "language": "in another language (filters.language)",
    "duplicate": "repeated",
    "near_duplicate": "repeated but for small differences",
    "partners": "of a sentence with more than max_partners translations",
    "overlap": "that are in validation or test",
    "links": "no translations by the links between their words (links.min_probability, links.min_coverage)",
}
RATIO_WORDS = 3  # added to both sides, so that "Yes ." may be "Oui , monsieur ."
_DAMAGED = re.compile("\ufffd|Ã[\u0080-\u00bf]|â€|Â[\u00a0-\u00bf]")
_GROUPED = re.compile(r"(?<=\d)[.,'’\u00a0\u202f ](?=\d{3}(?!\d))")
_NUMBER = re.compile(r"\d{2,}")
_PLACEHOLDER = re.compile(
    r"%(?:\d+\$|\(\w+\))?[-+0#]*\d*(?:\.\d+)?(?:hh?|ll?|[zjt])?[sdiufxXc@](?![^\W_])"  # of printf
    r"|\{[\w.]{0,40}\}|\$\{\w{1,40}\}|\$[A-Z_]{2,40}\b"
    r"|</?[A-Za-z][\w:-]{0,40}(?=[\s/>])"  # name of a tag
)


class Judged(NamedTuple):
    """What is said of pairs by a look at each alone, but for its language."""

    reasons: list[str | None]  # the first reason against each pair; ``None`` if there is none
    words: np.ndarray  # (2, N)
    can_tell: np.ndarray  # (2, N) whether a side has enough letters to tell its language


def judged(
    sources: Sequence[str], targets: Sequence[str], filters: FilterConfig, languages: tuple[str, str]
) -> Judged:
    """Judge normalised pairs; the reasons are tried in the order of ``REASONS``."""
    texts = sources, targets
    sides = [Characters(side) for side in texts]
    letters = [side.is_a(LETTER) for side in sides]
    num_letters = [side.count(found) for side, found in zip(sides, letters)]
    words = np.stack([num_words(side, text) for side, text in zip(sides, texts)])
    longer, shorter = words.max(0), words.min(0)
    wrong = {"empty": (sides[0].lengths == 0) | (sides[1].lengths == 0)}
    if filters.max_words is not None:
        wrong["too_long"] = longer > filters.max_words
    if filters.max_word_length is not None:
        wrong["long_word"] = _either(
            _long_words(*both, filters.max_word_length) for both in zip(sides, texts)
        )
    if filters.max_ratio is not None:
        wrong["ratio"] = longer + RATIO_WORDS > filters.max_ratio * (shorter + RATIO_WORDS)
    if filters.min_letters is not None:
        shares = [letter_shares(side, count) for side, count in zip(sides, num_letters)]
        wrong["letters"] = _either(share < filters.min_letters for share in shares)
    if filters.min_script is not None:
        shares = [script_shares(*each) for each in zip(sides, num_letters, languages)]
        wrong["script"] = _either(share < filters.min_script for share in shares)
    if filters.damaged:
        found = (_where(side.has(SUSPECT), _is_damaged, text) for side, text in zip(sides, texts))
        wrong["damaged"] = _either(found)
    if filters.identical:
        wrong["identical"] = np.fromiter(map(operator.eq, *texts), bool, len(sources))
    if filters.placeholders:
        having = _either(side.has(PLACEHOLDER) for side in sides)
        wrong["placeholders"] = _where(
            having, lambda *pair: placeholders(pair[0]) != placeholders(pair[1]), *texts
        )
    if filters.numbers is not None:
        least = filters.numbers
        having = _either(side.has_two(DIGIT) for side in sides)
        wrong["numbers"] = _where(having, lambda *pair: number_share(*pair) < least, *texts)
    reasons: list[str | None] = [None] * len(sources)
    for name in reversed([name for name in REASONS if name in wrong]):
        for index in np.flatnonzero(wrong[name]).tolist():
            reasons[index] = name
    need = filters.language_letters
    can_tell = [side.count(found, 4 * need) >= need for side, found in zip(sides, letters)]
    return Judged(reasons, words, np.stack(can_tell))


def _either(sides: Iterable[np.ndarray]) -> np.ndarray:
    one, other = sides
    return np.asarray(one | other)


def _where(chosen: np.ndarray, function: Callable[..., bool], *texts: Sequence[str]) -> np.ndarray:
    """What a function says of the chosen rows; of the others, no."""
    found = np.zeros(len(chosen), bool)
    for index in np.flatnonzero(chosen).tolist():
        found[index] = function(*(side[index] for side in texts))
    return found


def num_words(side: Characters, texts: Sequence[str]) -> np.ndarray:
    """The words of each normalised text: what single spaces divide, but in scripts without spaces."""
    found = side.count(side.is_a(SPACE)) + (side.lengths > 0)
    for index in np.flatnonzero(side.has(UNSPACED_LETTER)).tolist():
        found[index] = count_words(texts[index])
    return found


def _long_words(side: Characters, texts: Sequence[str], limit: int) -> np.ndarray:
    return _where(side.lengths > limit, lambda text: any(len(word) > limit for word in text.split()), texts)


def _is_damaged(text: str) -> bool:
    return _DAMAGED.search(text) is not None


def letter_shares(side: Characters, num_letters: np.ndarray) -> np.ndarray:
    """The share of letters among the characters other than white space; 0 without any."""
    visible = side.lengths - side.count(side.is_a(SPACE))
    return np.asarray(num_letters / np.maximum(visible, 1))


def script_shares(side: Characters, num_letters: np.ndarray, code: str) -> np.ndarray:
    """The share of each text's letters that are of the script of a language; 1 without letters."""
    ranges = letters_of(code)
    if ranges is None:
        return np.ones(len(num_letters))
    shares = np.minimum(1.0, side.count(side.in_ranges(ranges)) / np.maximum(num_letters, 1))
    return np.where(num_letters > 0, shares, 1.0)


def numbers(text: str) -> Counter[str]:
    """The numbers of two or more digits; 1,000 and 1 000 and 1.000 are equal."""
    if _NUMBER.search(text) is None:
        return Counter()
    found = _NUMBER.findall(_GROUPED.sub("", text))
    return Counter(str(int(number)) if len(number) < 40 else number for number in found)


def number_share(source: str, target: str) -> float:
    """Twice the numbers that both sides have, divided by all (Dice), with one more counted on either side.

    So one number that the other side writes as a word (*30*, *trente*) gives 1/2, and two that differ 1/3.
    """
    there, here = numbers(source), numbers(target)
    return (2 * (there & here).total() + 1) / (there.total() + here.total() + 1)


def placeholders(text: str) -> Counter[str]:
    """The placeholders and the names of tags, such as ``%s``, ``{name}``, ``$HOME`` and ``</b``."""
    if not any(mark in text for mark in "%{$<"):
        return Counter()
    return Counter(_PLACEHOLDER.findall(text))
