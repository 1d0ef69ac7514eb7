"""An export proves itself: the same sentences translated by both sides, and what differs."""

from collections.abc import Sequence
from typing import NamedTuple

from translate.export.contents import Rendered


class Proof(NamedTuple):
    """How the translations of an exported model compare with those of the run."""

    sentences: int
    differing: int  # texts
    score_difference: float  # the greatest, of normalised log-probabilities
    example: tuple[str, str, str] | None  # source, ours and theirs, of the first that differs

    def line(self) -> str:
        """One line for the terminal and for the model card."""
        return (
            f"{self.sentences:,} sentences translated by both: {self.differing:,} differ, "
            f"greatest difference of a score {self.score_difference:.2e}"
        )


def prove(sources: Sequence[str], ours: Sequence[Rendered], theirs: Sequence[Rendered]) -> Proof:
    """Compare the translations of the same sentences.

    Raises:
        ValueError: if there are not as many translations as sentences.
    """
    rows = list(zip(sources, ours, theirs, strict=True))
    differing = [(source, mine.text, other.text) for source, mine, other in rows if mine.text != other.text]
    gaps = [abs(mine.score - other.score) for _, mine, other in rows]
    return Proof(len(rows), len(differing), max(gaps, default=0.0), differing[0] if differing else None)
