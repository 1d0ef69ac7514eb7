"""The ``search`` section; ``conf/search/beam.yaml`` holds defaults and meanings."""

from dataclasses import replace
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le

from translate.config.declare import Count, declared
from translate.config.files import YAML

# The work for a line grows with these, so they have limits that no honest search meets.
Pieces = Annotated[int, Ge(1), Le(100_000)]
Fewest = Annotated[int, Ge(0), Le(100_000)]
LARGEST_BATCH = 100_000
MAX_HYPOTHESES = 6_400  # at a time; a step of them gives 200 MiB of scores for 8,000 pieces
Ratio = Annotated[float, Ge(0), Le(100)]


@declared("search/beam.yaml")
class SearchConfig:
    """Settings of the search for translations. Lengths are in pieces and include the end of the sentence."""

    beam_size: Annotated[int, Ge(1), Le(1_000)] = YAML
    length_penalty: Annotated[float, Ge(0), Le(10)] = YAML
    length_normalisation: Literal["average", "gnmt"] = YAML
    stop: Literal["full", "beaten"] = YAML
    coverage_penalty: Annotated[float, Ge(0), Le(1_000)] = YAML
    max_source_pieces: Pieces = YAML
    max_length_ratio: Ratio = YAML
    max_length_extra: Pieces = YAML
    max_length: Pieces | None = YAML
    min_length: Fewest = YAML
    min_length_ratio: Ratio = YAML
    no_repeat_ngram: Fewest = YAML
    sample: bool = YAML
    temperature: Annotated[float, Gt(0), Le(1_000)] = YAML
    top_k: Count = YAML
    top_p: Annotated[float, Gt(0), Le(1)] = YAML
    seed: Count = YAML
    batch_size: Annotated[int, Ge(1), Le(LARGEST_BATCH)] = YAML

    def __post_init__(self) -> None:
        if self.max_length is not None and self.min_length > self.max_length:
            raise ValueError(f"min_length: {self.min_length} is more than max_length={self.max_length}")

    def within_memory(self, hypotheses: int) -> "SearchConfig":
        """A copy with fewer sentences at a time, if their hypotheses might not fit into memory."""
        most = max(1, MAX_HYPOTHESES // hypotheses)
        return self if self.batch_size <= most else replace(self, batch_size=most)

    def longest(self, source_length: int) -> int:
        """The largest number of target pieces for a source of ``source_length`` pieces."""
        length = int(self.max_length_ratio * source_length) + self.max_length_extra
        return length if self.max_length is None else min(length, self.max_length)

    def shortest(self, source_length: int) -> int:
        """The smallest number of target pieces; never more than :meth:`longest`."""
        length = max(self.min_length, int(self.min_length_ratio * source_length))
        return min(length, self.longest(source_length))

    def normalise(self, log_probability: float, length: int) -> float:
        """The score of a translation of ``length`` pieces.

        ``average``: log p / length^a; ``gnmt``: log p / ((5 + length) / 6)^a, Wu et al. 2016, eq. 14.
        """
        base = float(length) if self.length_normalisation == "average" else (5 + length) / 6
        return log_probability / base**self.length_penalty
