"""Sentences whose translation the text alone does not decide, since they have several references."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from translate.evaluation.scores import check_numbers


class Ambiguous(NamedTuple):
    """Source sentences with several different references, as fractions from 0 to 1 of their number.

    Attributes:
        right: share of translations that are the reference, word for word.
        chance: the share that the most frequent reference of each sentence would get.
    """

    sentences: int
    right: float
    chance: float


def ambiguous_scores(
    sentences: Sequence[str], hypotheses: Sequence[str], references: Sequence[str]
) -> Ambiguous | None:
    """Scores of the sentences that are ambiguous among these pairs; ``None`` if there are none."""
    check_numbers(hypotheses, [references])
    found: dict[str, Counter[str]] = {}
    for sentence, reference in zip(sentences, references, strict=True):
        found.setdefault(sentence, Counter())[reference] += 1
    several = {sentence: counts for sentence, counts in found.items() if len(counts) > 1}
    chosen = [index for index, sentence in enumerate(sentences) if sentence in several]
    if not chosen:
        return None
    right = sum(hypotheses[index] == references[index] for index in chosen)
    chance = sum(max(counts.values()) for counts in several.values())
    return Ambiguous(len(chosen), right / len(chosen), chance / len(chosen))


def ambiguous_line(sentences: int, right: float, chance: float) -> str:
    """The scores as a line for the terminal."""
    return f"ambiguous sentences {100 * right:.2f} % of {sentences:,} right (chance {100 * chance:.2f} %)"
