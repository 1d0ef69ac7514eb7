"""Samples of a validation: some translations, and the alignment of one of them."""

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from translate.alignment.alignment import Alignment
from translate.runs.reports.boards import Board
from translate.text.escape import for_markdown

SHOWN = 5  # sentences
LONGEST = 25  # words of a side in the picture, if any sentence is that short


class Shown(Protocol):
    """The result of a validation that is shown beside its scores."""

    samples: list["Sample"]
    alignment: Alignment | None


@dataclass(frozen=True)
class Sample:
    """A sentence of the validation split, and the model's translation of it."""

    source: str
    reference: str
    translation: str


def sample_to_draw(samples: Iterable[Sample]) -> Sample | None:
    """The first sample with words on both sides that is not long, or else the first with words."""
    worded = [sample for sample in samples if sample.source.split() and sample.translation.split()]
    lengths = [max(len(sample.source.split()), len(sample.translation.split())) for sample in worded]
    fitting = [sample for sample, length in zip(worded, lengths) if length <= LONGEST]
    return next(iter(fitting or worded), None)


def show(board: Board, samples: Iterable[Sample], alignment: Alignment | None, step: int) -> None:
    """Write the translations as a table, and the alignment as a heatmap."""
    rows = [(sample.source, sample.reference, sample.translation) for sample in samples]
    if not rows:
        return
    cells = [[for_markdown(cell) for cell in row] for row in rows]
    table = ["| source | reference | translation |", "| --- | --- | --- |"]
    table += ["| " + " | ".join(row) + " |" for row in cells]
    board.text("validation/translations", "\n".join(table), step)
    if alignment is not None and alignment.weights.size:
        with tempfile.TemporaryDirectory() as folder:
            board.picture("validation/alignment", alignment.heatmap(Path(folder) / "alignment.png"), step)
