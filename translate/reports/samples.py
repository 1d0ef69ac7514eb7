"""What a validation shows beside its scores: some translations, and what one of them looked at."""

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from translate.alignment.alignment import Alignment

SHOWN = 5  # sentences
LONGEST = 25  # words of a side in the picture, where there is a shorter sentence


class Board(Protocol):
    """Where texts and pictures of a run are shown."""

    def text(self, name: str, markdown: str, step: int) -> None: ...

    def picture(self, name: str, path: Path, step: int) -> None: ...


@dataclass(frozen=True)
class Sample:
    """A sentence of the validation split, and the model's translation of it."""

    source: str
    reference: str
    translation: str


def sample_to_draw(samples: Iterable[Sample]) -> Sample | None:
    """The first sentence with words on both sides that is not long; else any with words."""
    worded = [each for each in samples if each.source.split() and each.translation.split()]
    lengths = [max(len(each.source.split()), len(each.translation.split())) for each in worded]
    fitting = [each for each, length in zip(worded, lengths) if length <= LONGEST]
    return next(iter(fitting or worded), None)


def show(board: Board, samples: Iterable[Sample], alignment: Alignment | None, step: int) -> None:
    """Write the translations as a table, and the alignment as a heatmap."""
    rows = [(each.source, each.reference, each.translation) for each in samples]
    if not rows:
        return
    cells = [[cell.replace("|", "&#124;") for cell in row] for row in rows]
    table = ["| source | reference | translation |", "| --- | --- | --- |"]
    table += ["| " + " | ".join(row) + " |" for row in cells]
    board.text("validation/translations", "\n".join(table), step)
    if alignment is not None and alignment.weights.size:
        with tempfile.TemporaryDirectory() as folder:
            board.picture("validation/alignment", alignment.heatmap(Path(folder) / "alignment.png"), step)
