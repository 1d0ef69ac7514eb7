"""What a picture needs of an alignment: words of both sides and a matrix of weights; no model is known."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from translate.aligner.links import Links


class WordMatrix(Protocol):
    """How much each target word looked at each source word.

    Attributes:
        weights: (T words, S words), from 0 to 1.
        method: what the weights are, as a picture says it; empty if not known.
    """

    @property
    def source_words(self) -> Sequence[str]: ...

    @property
    def target_words(self) -> Sequence[str]: ...

    @property
    def weights(self) -> np.ndarray: ...

    @property
    def method(self) -> str: ...

    def links(self) -> Links:
        """Hard links (source index, target index)."""
        ...
