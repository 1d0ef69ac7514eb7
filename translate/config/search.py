"""What the ``search`` section of the configuration holds; the values are in ``conf/search``."""

import math
from dataclasses import dataclass
from typing import Literal

NORMALISATIONS = ("average", "gnmt")
FINITE = ("length_penalty", "coverage_penalty", "max_length_ratio", "min_length_ratio", "temperature")


@dataclass
class SearchConfig:
    """How translations are searched; the values are in ``conf/search``. Lengths count the end of sentence."""

    beam_size: int = 5
    length_penalty: float = 1.0  # exponent
    length_normalisation: Literal["average", "gnmt"] = "average"
    coverage_penalty: float = 0.0  # beta of Wu et al. 2016, eq. 14; 0 is none
    max_source_pieces: int = 512
    max_length_ratio: float = 2.0  # a translation has at most ratio * source pieces + extra pieces
    max_length_extra: int = 20
    max_length: int | None = None  # pieces, whatever the source
    min_length: int = 0  # pieces
    min_length_ratio: float = 0.0  # a translation has at least ratio * source pieces
    no_repeat_ngram: int = 0  # no so many pieces in a row occur twice; 0 allows all
    sample: bool = False  # draw translations at random; the beam is not used
    temperature: float = 1.0  # of the draw; below 1 likely pieces are favoured
    top_k: int = 0  # draw among so many likeliest pieces; 0 among all
    top_p: float = 1.0  # draw among the likeliest pieces that have this probability together
    seed: int = 1  # of the draw
    batch_size: int = 64  # sentences

    def __post_init__(self) -> None:
        for name in ("beam_size", "batch_size", "max_source_pieces", "max_length"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name}: expected at least 1, got {value}")
        for name in (
            "min_length",
            "min_length_ratio",
            "no_repeat_ngram",
            "top_k",
            "seed",
            "coverage_penalty",
            "max_length_ratio",
        ):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name}: expected at least 0, got {getattr(self, name)}")
        for name in FINITE:
            if not math.isfinite(getattr(self, name)):
                raise ValueError(f"{name}: expected a finite number, got {getattr(self, name)}")
        if self.max_length_extra < 1:
            raise ValueError(f"max_length_extra: expected at least 1, got {self.max_length_extra}")
        if not self.temperature > 0:
            raise ValueError(f"temperature: expected a number above 0, got {self.temperature}")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p: expected a probability above 0, at most 1, got {self.top_p}")
        if self.length_normalisation not in NORMALISATIONS:
            known = " or ".join(NORMALISATIONS)
            raise ValueError(f"length_normalisation: expected {known}, got {self.length_normalisation!r}")
        if self.max_length is not None and self.min_length > self.max_length:
            raise ValueError(f"min_length: {self.min_length} is more than max_length={self.max_length}")

    def longest(self, source_length: int) -> int:
        """Most target pieces for a source of so many pieces."""
        length = int(self.max_length_ratio * source_length) + self.max_length_extra
        return length if self.max_length is None else min(length, self.max_length)

    def shortest(self, source_length: int) -> int:
        """Fewest target pieces for a source of so many pieces; never more than the most."""
        length = max(self.min_length, int(self.min_length_ratio * source_length))
        return min(length, self.longest(source_length))

    def normalise(self, log_probability: float, length: int) -> float:
        """The score of a translation of ``length`` pieces.

        ``average``: log p / length^a; ``gnmt``: log p / ((5 + length) / 6)^a, Wu et al. 2016, eq. 14.
        """
        base = float(length) if self.length_normalisation == "average" else (5 + length) / 6
        return log_probability / base**self.length_penalty
