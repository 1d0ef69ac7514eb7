"""What one sentence asks of a search, and what it gives."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from torch import Tensor


@dataclass(frozen=True)
class Request:
    """What one sentence asks of its translation.

    Attributes:
        prefix: pieces that it begins with.
        phrases: pieces that must stand in it side by side, in whatever order of the phrases.
    """

    prefix: Sequence[int] = ()
    phrases: Sequence[Sequence[int]] = field(default_factory=tuple)

    @property
    def length(self) -> int:
        """Pieces that are needed to fulfil it, without the end of sentence."""
        return len(self.prefix) + sum(map(len, self.phrases))


class Hypothesis(NamedTuple):
    """One translation as ids, without begin and end of sentence."""

    ids: list[int]
    log_probability: float  # natural, of all pieces and the end of sentence
    score: float  # log-probability, normalised by the length, the end of sentence counted
    weights: Tensor | None = None  # (T + 1, H, S) of the layer that was asked for, by the row that predicts
