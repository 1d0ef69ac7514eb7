"""What a search is told and what it gives."""

from dataclasses import dataclass
from typing import NamedTuple


@dataclass
class SearchConfig:
    """How translations are searched; the values are in ``conf/search``."""

    beam_size: int = 5
    length_penalty: float = 1.0  # exponent of the length that a log-probability is divided by
    max_source_pieces: int = 512
    max_length_ratio: float = 2.0  # a translation has at most ratio * source pieces + extra pieces
    max_length_extra: int = 20
    batch_size: int = 64  # sentences

    def __post_init__(self) -> None:
        for name in ("beam_size", "batch_size", "max_source_pieces"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: expected at least 1, got {getattr(self, name)}")
        if self.max_length_ratio < 0 or self.max_length_extra < 1:
            raise ValueError("max_length_ratio must not be negative, and max_length_extra at least 1")

    def max_length(self, source_length: int) -> int:
        """Most target pieces, end of sentence counted, for a source of so many pieces."""
        return int(self.max_length_ratio * source_length) + self.max_length_extra


class Hypothesis(NamedTuple):
    """One translation as ids, without begin and end of sentence."""

    ids: list[int]
    log_probability: float  # natural, of all pieces and the end of sentence
    score: float  # log-probability / length ** length_penalty, the end of sentence counted
