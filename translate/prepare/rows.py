"""Judges rows one by one: raw pairs in; normalised pairs out, with a reason to drop them or with keys.

Every function is pure, so that every executor gives the same rows, whatever the batches.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow
import pyarrow.compute

from translate.prepare.inputs import RAW
from translate.prepare.recipe import FilterConfig, Recipe
from translate.prepare.row_keys import forms, normalised, order_keys, replaced, text_keys
from translate.text.languages import base, identify_sides, is_known, script_of
from translate.text.words import UNSPACED, UNSPACED_WORD

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
    "placeholders": "with other placeholders or tags on each side (filters.placeholders)",
    "numbers": "with numbers that contradict each other (filters.numbers)",
    "language": "in another language (filters.language)",
    "duplicate": "repeated",
    "near_duplicate": "repeated but for case, accents, punctuation and digits",
    "partners": "of a sentence with more than max_partners translations",
    "overlap": "in validation or test but for case, accents, punctuation and digits (overlap)",
    "links": "no translations by the links between their words (links.min_probability)",
}
ROWS = pyarrow.schema(
    [
        *RAW,
        ("reason", pyarrow.string()),  # null for a pair that is kept
        ("source_words", pyarrow.int32()),
        ("target_words", pyarrow.int32()),
        ("source_language", pyarrow.string()),  # identified; null for a short side
        ("target_language", pyarrow.string()),
        ("pair_key", pyarrow.int64()),
        ("source_key", pyarrow.int64()),  # of the side's form
        ("target_key", pyarrow.int64()),
        ("order_key", pyarrow.int64()),
    ]
)
RATIO_WORDS = 3  # added to both sides, so that "Yes ." may be "Oui , monsieur ."
_SPACED_WORD = re.compile(rf"[^\W{UNSPACED}]+")
_WORD = f"{UNSPACED_WORD}|[^ {UNSPACED}]+"  # of normalised text, as translate.corpora.filters counts them
# UTF-8 read as Latin-1 or Windows-1252, whose second character may have become a space.
_DAMAGED = "\ufffd|\\p{Ll}[ÃÂ]|(?:^| )[ÃÂ] |Ã[\u0080-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]|â€|Â[\u00a0-\u00bf]"
_GROUPED = re.compile(r"(?<=\d)[.,'’\u00a0\u202f ](?=\d{3}(?!\d))")
_NUMBER = re.compile(r"\d{2,}")
_FORMAT = r"[-+0#]*\d*(?:\.\d+)?(?:hh?|ll?|[zjt])?[sdiufxXc@]"  # of printf
_PLACEHOLDER = re.compile(
    rf"%\(\w+\){_FORMAT}|%(?:\d+\$)?{_FORMAT}(?![A-Za-z\u00c0-\u024f\d])"
    r"|%[ds](?=s\b)|\{(?:[\w.]{0,40}| [\w.]{1,40} )\}|\$\{\w{1,40}\}|\$[A-Z_]{2,40}\b"
    r"|</?(?:[abigpsux]|br|em|code|div|font|h[1-6]|img|li|ol|pre|span|strong|su[bp]|t[dhrt]|table|ul)(?=[\s/>])"
)
_NAME = re.compile(r"\{ ?[^\W\d][\w.]* ?\}")  # translators translate it where a reader is to fill it in


class Judged(NamedTuple):
    """The findings about pairs that are looked at one by one."""

    reasons: np.ndarray  # (N,) the first reason against each pair; ``None`` if there is none
    words: np.ndarray  # (2, N)
    languages: list[list[str | None]]  # identified, of each side


@dataclass(frozen=True)
class RowFunction:
    """Normalises and judges the pairs of a batch."""

    recipe: Recipe

    def __call__(self, batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
        """The batch with the columns of ``ROWS``; validation and test pairs are normalised and kept."""
        sides = normalised(batch["source"]), normalised(batch["target"])
        languages = self.recipe.source_language, self.recipe.target_language
        found = judged(*sides, self.recipe.filters, languages)
        found.reasons[batch["split"].to_numpy() > 0] = None
        shared = [forms(side) for side in sides]
        columns = {
            "source": sides[0],
            "target": sides[1],
            "reason": found.reasons,
            "source_words": found.words[0],
            "target_words": found.words[1],
            "source_language": found.languages[0],
            "target_language": found.languages[1],
            # No normalised text has a line feed, so no part of one side is taken for a part of the other.
            "pair_key": text_keys(map("\n".join, zip(*(side.to_pylist() for side in sides)))),
            "source_key": text_keys(shared[0].to_pylist()),
            "target_key": text_keys(shared[1].to_pylist()),
            "order_key": order_keys(batch["row"].to_numpy(), self.recipe.seed),
        }
        arrays = [
            pyarrow.array(columns[field.name], field.type) if field.name in columns else batch[field.name]
            for field in ROWS
        ]
        return pyarrow.record_batch(arrays, schema=ROWS)


def judged(
    sources: pyarrow.Array, targets: pyarrow.Array, filters: FilterConfig, languages: tuple[str, str]
) -> Judged:
    """Judge normalised pairs; the first of ``REASONS`` that holds counts."""
    sides = sources, targets
    lengths = np.stack([_lengths(side) for side in sides])
    texts_of_letters = [replaced(side, r"\PL+", "") for side in sides]
    letters = np.stack([_lengths(side) for side in texts_of_letters])
    words = np.stack([_numpy(pyarrow.compute.count_substring_regex(side, pattern=_WORD)) for side in sides])
    longer, shorter = words.max(0), words.min(0)
    wrong = {"empty": shorter == 0}
    if filters.max_words is not None:
        wrong["too_long"] = longer > filters.max_words
    if filters.max_word_length is not None:
        wrong["long_word"] = _either(sides, f"[^ {UNSPACED}]{{{filters.max_word_length + 1},}}")
    if filters.max_ratio is not None:
        wrong["ratio"] = longer + RATIO_WORDS > filters.max_ratio * (shorter + RATIO_WORDS)
    if filters.min_letters is not None:
        visible = lengths - np.stack([_numpy(pyarrow.compute.count_substring(side, " ")) for side in sides])
        wrong["letters"] = (letters < filters.min_letters * visible).any(0)
    equal = _numpy(pyarrow.compute.equal(*sides))
    if filters.min_script is not None:
        wrong["script"] = ~equal & _foreign_pairs(sides, texts_of_letters, languages, filters.min_script)
    if filters.damaged:
        wrong["damaged"] = _either(sides, _DAMAGED)
    if filters.identical:
        wrong["identical"] = equal
    if filters.placeholders:
        chosen = _either(sides, "[%{$<]")
        wrong["placeholders"] = _checked(chosen, lambda s, t: placeholders(s) != placeholders(t), sides)
    if (least := filters.numbers) is not None:
        chosen = _either(sides, r"\p{Nd}\p{Nd}")
        wrong["numbers"] = _checked(chosen, lambda s, t: number_share(s, t) < least, sides)
    reasons = np.full(len(sources), None, object)
    for name in reversed([name for name in REASONS if name in wrong]):
        reasons[wrong[name]] = name
    identified: list[list[str | None]] = []
    for side, code, enough in zip(sides, languages, letters >= filters.language_letters):
        names: list[str | None] = [None] * len(sources)
        if filters.language is not None and is_known(code):
            texts, expected = side.to_pylist(), base(code)
            indexes = np.flatnonzero(enough & (reasons == None)).tolist()  # noqa: E711
            for index, found in zip(indexes, identify_sides((texts[index] for index in indexes), languages)):
                names[index] = found[0]
                if found[0] != expected and found[1] >= filters.language:
                    reasons[index] = "language"
        identified.append(names)
    return Judged(reasons, words, identified)


def _foreign_pairs(
    sides: tuple[pyarrow.Array, pyarrow.Array],
    letters: Sequence[pyarrow.Array],
    languages: tuple[str, str],
    least: float,
) -> np.ndarray:
    """Whether a side has too few letters of its script, beside the words that both sides have."""
    foreign = _in_other_script(letters, languages, least)
    wholly = _in_other_script(letters, languages, 1e-9)  # without one letter of its script
    chosen = np.flatnonzero(foreign & ~wholly)
    own = zip(*(_without_shared(sides[0][row].as_py(), sides[1][row].as_py()) for row in chosen.tolist()))
    own_letters = [replaced(pyarrow.array(side, pyarrow.string()), r"\PL+", "") for side in own]
    foreign[chosen] = _in_other_script(own_letters, languages, least)
    return foreign


def _numpy(values: pyarrow.Array) -> np.ndarray:
    return np.asarray(values.to_numpy(zero_copy_only=False))


def _lengths(texts: pyarrow.Array) -> np.ndarray:
    return _numpy(pyarrow.compute.utf8_length(texts))


def _either(sides: tuple[pyarrow.Array, pyarrow.Array], pattern: str) -> np.ndarray:
    """Whether a pattern is found in one side or in both."""
    one, other = (pyarrow.compute.match_substring_regex(side, pattern=pattern) for side in sides)
    return _numpy(pyarrow.compute.or_(one, other))


def _checked(
    chosen: np.ndarray, function: Callable[[str, str], bool], sides: tuple[pyarrow.Array, pyarrow.Array]
) -> np.ndarray:
    """The answers of a function to the chosen pairs; False for the others."""
    found = np.zeros(len(chosen), bool)
    for index in np.flatnonzero(chosen).tolist():
        found[index] = function(sides[0][index].as_py(), sides[1][index].as_py())
    return found


def _in_other_script(
    letters: Sequence[pyarrow.Array], languages: tuple[str, str], least: float
) -> np.ndarray:
    """Whether a smaller share of the letters of either side are of its language's script, if it is known."""
    found = np.zeros(len(letters[0]) if letters else 0, bool)
    for side, language in zip(letters, languages):
        if (script := script_of(language)) is not None:
            found |= _lengths(replaced(side, f"[^{script}]+", "")) < least * _lengths(side)
    return found


def _without_shared(source: str, target: str) -> tuple[str, str]:
    """Both sides without the words of both, such as names, addresses and placeholders, in any script."""
    words = (map(str.casefold, _SPACED_WORD.findall(text)) for text in (source, target))
    shared = set(next(words)).intersection(next(words))

    def left(text: str) -> str:
        return _SPACED_WORD.sub(lambda word: "" if word[0].casefold() in shared else word[0], text)

    return left(source), left(target)


def numbers(text: str) -> Counter[str]:
    """The numbers of two or more digits; 1,000 and 1 000 and 1.000 are equal."""
    found = _NUMBER.findall(_GROUPED.sub("", text))
    return Counter(str(int(number)) if len(number) < 40 else number for number in found)


def number_share(source: str, target: str) -> float:
    """The share of the numbers on which both sides agree (Dice), with one more counted on either side.

    Numbers that only one side has are no contradiction: the other may write them as words, or leave out a
    reference. So *30* beside *trente* gives 1, and *30* beside *40* gives 1/3.
    """
    there, here = numbers(source), numbers(target)
    both, differing = 2 * (there & here).total() + 1, 2 * min((there - here).total(), (here - there).total())
    same = differing and re.findall(r"\d", source) == re.findall(r"\d", target)  # 0.02715 and 0,027 15
    return 1.0 if same else both / (both + differing)


def placeholders(text: str) -> Counter[str]:
    """The placeholders and the names of tags, such as ``%s``, ``{0}``, ``$HOME`` and ``</b``.

    ``{name}`` may be ``{nom}`` on the other side, so that such names only count.
    """
    return Counter("{}" if _NAME.fullmatch(found) else found for found in _PLACEHOLDER.findall(text))


def difference(source: Counter[str], target: Counter[str]) -> str:
    """Names what one side has and the other lacks."""
    sides = {"source": source - target, "target": target - source}
    shown = (f"only in the {side}: {', '.join(found.elements())}" for side, found in sides.items() if found)
    return "; ".join(shown)
