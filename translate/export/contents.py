"""What an export is made of, and what it gives back."""

import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import groupby
from typing import Any, NamedTuple

from translate.alignment.choice import AlignmentChoice
from translate.config.search import SearchConfig
from translate.errors import UserError
from translate.models import Seq2Seq
from translate.storage.run_directory import RunDirectory
from translate.text.tokenizer import EOS, Tokenizer, TokenizerPair

EXTRA = "export"  # the optional dependencies of pyproject.toml


@dataclass(frozen=True)
class Contents:
    """A trained run, read.

    Attributes:
        directory: where it came from.
        model: on the CPU, in evaluation mode and float32.
        tokenizers: of both sides.
        search: the run's own defaults.
        choice: the attention that is shown as the alignment.
        languages: of source and target.
    """

    directory: RunDirectory
    model: Seq2Seq
    tokenizers: TokenizerPair
    search: SearchConfig
    choice: AlignmentChoice
    languages: tuple[str, str]

    @property
    def longest_source(self) -> int:
        """Most source pieces that are translated, end of sentence counted."""
        return self.search.max_source_pieces + 1

    @property
    def longest_target(self) -> int:
        """Most target pieces that a translation has, end of sentence counted."""
        longest = self.search.longest(self.longest_source)
        limit = self.model.max_target_length
        return longest if limit is None else min(longest, limit)

    def encode(self, sentence: str) -> list[int]:
        """The source pieces of a sentence as they are translated, end of sentence last."""
        return [*self.tokenizers.source.encode(sentence)[: self.search.max_source_pieces], EOS]


class Rendered(NamedTuple):
    """A translation by an exported model."""

    text: str
    score: float  # log-probability / length ** length_penalty, the end of sentence counted


Engine = Callable[[Sequence[str]], list[Rendered]]


def require(package: str, export_format: str) -> Any:
    """Import an optional package; raises ``UserError`` that names the extra where it is absent."""
    if find_spec(package) is None:
        raise UserError(
            f"--format {export_format} needs the package {package}, which is not installed; "
            f"pip install 'seq2seq-translate[{EXTRA}]'"
        )
    return importlib.import_module(package)


def vocabulary(tokenizer: Tokenizer) -> list[str]:
    """Every piece, in the order of its id."""
    return tokenizer.pieces(range(len(tokenizer)))


def batches_of_one_length(sources: Sequence[Sequence[int]], batch_size: int) -> Iterator[list[int]]:
    """Places of sources of equal length, at most ``batch_size`` at a time.

    Other engines bound the length of a translation for a whole batch, and the run for each sentence.
    """
    order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
    for _, places in groupby(order, key=lambda i: len(sources[i])):
        rows = list(places)
        for begin in range(0, len(rows), batch_size):
            yield rows[begin : begin + batch_size]
