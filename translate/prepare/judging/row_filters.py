"""Why a pair is dropped by a look at it alone: length, characters, language, numbers, placeholders."""

import re
from collections import Counter

from translate.corpora.filters import count_words
from translate.prepare.judging.language import Identified, base, without_letters_of
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
_NO_LETTERS = re.compile(r"[\W\d_]+")  # to remove runs is far faster than to find each letter
_DAMAGED = re.compile("\ufffd|Ã[\u0080-\u00bf]|â€|Â[\u00a0-\u00bf]")
_GROUPED = re.compile(r"(?<=\d)[.,'’\u00a0\u202f ](?=\d{3}(?!\d))")
_NUMBER = re.compile(r"\d{2,}")
_PLACEHOLDER = re.compile(
    r"%(?:\d+\$|\(\w+\))?[-+0#]*\d*(?:\.\d+)?(?:hh?|ll?|[zjt])?[sdiufxXc@](?![^\W_])"  # of printf
    r"|\{[\w.]{0,40}\}|\$\{\w{1,40}\}|\$[A-Z_]{2,40}\b"
    r"|</?[A-Za-z][\w:-]{0,40}(?=[\s/>])"  # name of a tag
)


def counted(text: str) -> int:
    """The words of a side."""
    return count_words(text)


def reason_of(
    source: str, target: str, words: tuple[int, int], filters: FilterConfig, languages: tuple[str, str]
) -> str | None:
    """The first reason against a normalised pair, but for its language; ``None`` if there is none."""
    if not source or not target:
        return "empty"
    longer, shorter = max(words), min(words)
    if filters.max_words is not None and longer > filters.max_words:
        return "too_long"
    sides = (source, target)
    if filters.max_word_length is not None and any(_has_long_word(s, filters.max_word_length) for s in sides):
        return "long_word"
    if filters.max_ratio is not None and longer + RATIO_WORDS > filters.max_ratio * (shorter + RATIO_WORDS):
        return "ratio"
    if filters.min_letters is not None and any(letter_share(side) < filters.min_letters for side in sides):
        return "letters"
    if filters.min_script is not None:
        shares = (script_share(side, code) for side, code in zip(sides, languages))
        if any(share < filters.min_script for share in shares):
            return "script"
    if filters.damaged and any(not side.isascii() and _DAMAGED.search(side) for side in sides):
        return "damaged"
    if filters.identical and source == target:
        return "identical"
    if filters.placeholders and placeholders(source) != placeholders(target):
        return "placeholders"
    if filters.numbers is not None and number_share(source, target) < filters.numbers:
        return "numbers"
    return None


def is_other_language(found: Identified | None, expected: str, filters: FilterConfig) -> bool:
    """Whether a side is surely in another language than it should be."""
    if found is None or filters.language is None:
        return False
    return found.language != base(expected) and found.probability >= filters.language


def to_identify(text: str, filters: FilterConfig) -> bool:
    """Whether a side has enough letters to tell its language."""
    need = filters.language_letters
    if filters.language is None or len(text) < need:
        return False
    return num_letters(text[: 4 * need]) >= need


def num_letters(text: str) -> int:
    """The letters of a text."""
    return len(_NO_LETTERS.sub("", text))


def letter_share(text: str) -> float:
    """The share of letters among the characters other than white space."""
    visible = sum(map(len, text.split()))
    return num_letters(text) / visible if visible else 0.0


def script_share(text: str, code: str) -> float:
    """The share of a text's letters that are of the script of a language; 1 without letters."""
    pattern = without_letters_of(code)
    if pattern is None:
        return 1.0
    letters = num_letters(text)
    return min(1.0, len(pattern.sub("", text)) / letters) if letters else 1.0


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


def _has_long_word(text: str, limit: int) -> bool:
    return len(text) > limit and any(len(word) > limit for word in text.split())
