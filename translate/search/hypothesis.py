"""A sentence in a search, and the hypotheses that it ends with."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from translate.search.sources import Request


class Hypothesis(NamedTuple):
    """One translation as ids, without begin and end of sentence."""

    ids: list[int]
    log_probability: float  # natural, of all pieces and the end of sentence
    score: float  # log-probability, normalised by the length with the end of sentence
    weights: Tensor | None = None  # (T + 1, H, S) of the recorded heads; row t predicts piece t


class Finished(NamedTuple):
    """A sentence whose search is over."""

    key: Any
    hypotheses: list[Hypothesis]  # best first, samples in the order of their draw; none if none ended


@dataclass
class SearchedSentence:
    """A sentence in the running batch.

    Attributes:
        key: the caller's name for it.
        request: see :class:`Request`.
        ids: the source for the first model, with the end of sentence.
        lengths: source pieces for each model, with the end of sentence.
        shortest, longest: limits of the translation's length, with the end of sentence.
        length: tokens of its hypotheses so far, with the begin of sentence.
        ended: hypotheses that have ended, each with its number among the W.
        numbers: random numbers for samples, (W, longest).
    """

    key: Any
    request: Request
    ids: Sequence[int]
    lengths: Sequence[int]
    shortest: int
    longest: int
    length: int = 1
    ended: list[tuple[int, Hypothesis]] = field(default_factory=list)
    numbers: np.ndarray | None = None
