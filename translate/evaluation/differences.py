"""The sentences on which systems differ most, by the chrF of each sentence."""

from collections.abc import Sequence
from typing import NamedTuple


class Wins(NamedTuple):
    """On how many sentences a system scores higher than, lower than and the same as the baseline."""

    better: int
    worse: int
    equal: int


def sentence_chrf(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> list[float]:
    """The chrF (0 to 100) of each translation against its references, as sacrebleu defines it."""
    from sacrebleu.metrics import CHRF

    metric = CHRF()
    together = zip(hypotheses, zip(*references, strict=True), strict=True)
    return [float(metric.sentence_score(hypothesis, list(each)).score) for hypothesis, each in together]


def most_different(scores: Sequence[Sequence[float]], most: int) -> list[int]:
    """Indexes of the sentences whose best and worst scores lie farthest apart, the farthest first.

    Args:
        scores: of each system, one for each sentence.
        most: number of sentences; those on which all systems score the same are left out.
    """
    spreads = [max(column) - min(column) for column in zip(*scores, strict=True)]
    order = sorted(range(len(spreads)), key=lambda index: (-spreads[index], index))
    return [index for index in order[:most] if spreads[index] > 0]


def wins(scores: Sequence[float], baseline: Sequence[float]) -> Wins:
    """On how many sentences ``scores`` are higher, lower and the same."""
    pairs = list(zip(scores, baseline, strict=True))
    better, worse = sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)
    return Wins(better, worse, len(pairs) - better - worse)
