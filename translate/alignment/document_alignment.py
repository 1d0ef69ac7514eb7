"""The alignment of a target with a source and the sentences before it in its document, at both levels."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from translate.alignment.alignment import Alignment

THIS = "this sentence"


@dataclass(frozen=True, eq=False)
class DocumentAlignment:
    """How much each target word looked at each sentence of a document, and at their words.

    Attributes:
        words: of the target with all sentences, one after another.
        starts: the number of the first word of each sentence; the last sentence is the source itself.
    """

    words: Alignment
    starts: Sequence[int]

    @property
    def sentences(self) -> Alignment:
        """The weight of each sentence, the sum of those of its words: (T words, sentences)."""
        edges = [*self.starts, len(self.words.source_words)]
        parts = [self.words.weights[:, a:b].sum(1) for a, b in pairwise(edges)]
        back = [f"{number} before" for number in range(len(self.starts) - 1, 0, -1)]
        names = [*back, THIS]
        return Alignment(names, self.words.target_words, np.stack(parts, 1), method="sentences")

    def draw(self, path: str | Path, *, values: bool = False, colour_map: str = "gray") -> Path:
        """Draw both levels side by side; lines separate the words of the sentences.

        Raises:
            UserError: as `heatmap.draw`.
        """
        from translate.pictures.heatmap import draw  # matplotlib is slow to import

        sentences = replace(self.sentences, method="")
        return draw(
            [sentences, self.words],
            path,
            titles=["sentences", "words"],
            values=values,
            colour_map=colour_map,
            breaks=[(), self.starts[1:]],
        )
