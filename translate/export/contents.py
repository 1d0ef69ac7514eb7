"""The input of every export, a run in memory, and its proof, sentences translated by both engines."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from translate.config.names import counted
from translate.errors import UserError, optional
from translate.runs.run_directory import RunDirectory
from translate.text.tokenizer import EOS
from translate.translation import Translation
from translate.translator import Translator


@dataclass(repr=False)
class Contents(Translator):
    """A trained run in memory, its model on the CPU and in float32.

    Attributes:
        directory: the run directory.
    """

    directory: RunDirectory = field(kw_only=True)

    @property
    def longest_source(self) -> int:
        """Largest number of source pieces, including end of sentence; learned positions limit it, too."""
        return self.model.within_positions(self.search.max_source_pieces + 1)

    @property
    def longest_target(self) -> int:
        """Largest number of target pieces, including end of sentence."""
        return self.model.within_positions(self.search.longest(self.longest_source))

    def encode(self, sentence: str) -> list[int]:
        """The source pieces of a sentence, cut to the longest source, with end of sentence."""
        return [*self.tokenizers.source.encode(sentence)[: self.longest_source - 1], EOS]


# Translates by an exported model: texts and scores, with alignments where the format shows the run's own.
Engine = Callable[[Sequence[str]], list[Translation]]


class Proof(NamedTuple):
    """A comparison of the translations by an exported model with those by its run."""

    sentences: int
    differing: int  # texts
    score_difference: float  # the largest, of normalised log-probabilities
    example: tuple[str, str, str] | None  # the shortest that differs: source, text of the run, of the export
    words: int = 0  # target words whose links are compared: those of equal texts, if both have alignments
    relinked: int = 0  # of these, linked otherwise

    def line(self) -> str:
        """The proof on one line, for the terminal and the model card."""
        links = f"; {self.relinked:,} of {self.words:,} words linked otherwise" if self.words else ""
        return (
            f"{counted(self.sentences, 'sentence')} translated by both: {self.differing:,} differ, "
            f"greatest difference of a score {self.score_difference:.2e}{links}"
        )


def prove(sources: Sequence[str], ours: Sequence[Translation], theirs: Sequence[Translation]) -> Proof:
    """Compare the translations of the same sentences by the run (ours) and by the export (theirs).

    Raises:
        ValueError: if the numbers of sentences and translations differ.
    """
    rows = list(zip(sources, ours, theirs, strict=True))
    differing = [(source, mine.text, other.text) for source, mine, other in rows if mine.text != other.text]
    gaps = [abs(mine.score - other.score) for _, mine, other in rows]
    links = [_links(mine, other) for _, mine, other in rows if mine.text == other.text]
    words, relinked = (sum(column) for column in zip((0, 0), *links))
    shortest = min(differing, key=lambda row: len(row[1]), default=None)
    return Proof(len(rows), len(differing), max(gaps, default=0.0), shortest, words, relinked)


def _links(ours: Translation, theirs: Translation) -> tuple[int, int]:
    """The number of target words of one text, and of those with other links."""
    if not (ours.alignment and theirs.alignment):
        return 0, 0
    differing = {target for _, target in ours.alignment.links() ^ theirs.alignment.links()}
    return len(ours.alignment.target_words), len(differing)


def require(package: str, export_format: str) -> Any:
    """Import a package of the extra ``export``; raises :class:`UserError` if it is not installed."""
    return optional(package, f"--format {export_format}", "export")


def check_new(out: Path) -> None:
    """Raise :class:`UserError` unless ``out`` can become a new folder."""
    if out.exists():
        raise UserError(f"{out}: exists already; choose another folder")
    if not out.parent.is_dir():
        raise UserError(f"{out}: there is no folder {out.parent}")


def batches_of_one_length(sources: Sequence[Sequence[int]], batch_size: int) -> Iterator[list[int]]:
    """Indexes of sources of equal length, at most ``batch_size`` at a time.

    Other engines have one limit for the lengths of a batch, while a run has one for each sentence.
    """
    order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
    for _, indexes in groupby(order, key=lambda i: len(sources[i])):
        rows = list(indexes)
        for begin in range(0, len(rows), batch_size):
            yield rows[begin : begin + batch_size]
