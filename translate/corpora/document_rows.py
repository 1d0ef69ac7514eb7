"""Corpora with documents: the document of every pair, and sources after its previous sentences."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow

from translate.config.data import DataConfig
from translate.config.names import counted
from translate.corpora.columns import Column
from translate.corpora.encoded import EncodedCorpus, Rows
from translate.corpora.split import NO_DOCUMENT, Split, document_numbers
from translate.corpora.tables import Table
from translate.errors import UserError
from translate.text.documents import ContextSize, join_sentences


def columns_of(data: DataConfig) -> tuple[str, ...]:
    """The columns of the pairs that tables give."""
    return ("source", "target") if data.document_field is None else ("source", "target", "documents")


def numbered(table: Table, names: Sequence[str]) -> Iterator[Sequence[Sequence[Any]]]:
    """The named columns of a table, in blocks: source, target, and ids of documents, which become numbers."""
    for source, target, *ids in table.read(names):
        yield (source, target, *map(document_numbers, ids))


def numbers_of(documents: Sequence[int]) -> np.ndarray:
    """The column of a split as an array, int64."""
    return Column.of(documents, pyarrow.int64()).values.to_numpy()


def draw_documents(documents: np.ndarray, sizes: Mapping[str, int], seed: int) -> dict[str, np.ndarray]:
    """Rows of whole documents drawn at random, sorted, for every split.

    Args:
        documents: the number of each row's; a row that is ``NO_DOCUMENT`` is a document of its own.
        sizes: name of a split -> most rows.
        seed: the same one draws the same documents.

    Raises:
        UserError: if every document is larger than what is wanted.
    """
    keys = documents.copy()
    alone = np.flatnonzero(documents == NO_DOCUMENT)
    keys[alone] = -1 - alone
    _, group, counts = np.unique(keys, return_inverse=True, return_counts=True)
    order = list(range(len(counts)))
    random.Random(seed).shuffle(order)
    owner = np.full(len(counts), -1)
    for number, (name, size) in enumerate(sizes.items()):
        left = size
        for index in order:
            if owner[index] == -1 and counts[index] <= left:
                owner[index] = number
                left -= int(counts[index])
            if not left:
                break
        if left == size:
            raise UserError(
                f"data.{name}_pairs: every document has more than {counted(size, 'pair')} (at most a tenth "
                f"of train is held out); give {name} files, or data.{name}_pairs=0"
            )
    return {name: np.flatnonzero(owner[group] == number) for number, name in enumerate(sizes)}


def shared_documents(train: Split, others: Mapping[str, Split]) -> list[str]:
    """How many documents of other splits are also in train, for the user."""
    if train.documents is None:
        return []
    found, known = [], numbers_of(train.documents)
    for name, split in others.items():
        if split.documents is None:
            continue
        numbers = np.unique(numbers_of(split.documents))
        both = int(np.isin(numbers[numbers != NO_DOCUMENT], known).sum())
        if both:
            found.append(f"{name} documents that are also in train: {both:,}")
    return found


@dataclass(frozen=True)
class ContextRows:
    """The sources of a split after the previous sentences of their documents, joined when a batch needs them.

    Attributes:
        rows: the sentences alone.
        before: how many rows before each one are of the same document, ``size.sentences`` at most; uint8.
        size: how much is read.
    """

    rows: Rows
    before: np.ndarray
    size: ContextSize

    @property
    def num_rows(self) -> int:
        return self.rows.num_rows

    def row(self, index: int) -> np.ndarray:
        """The ids of a source, without the end of sentence."""
        previous = [self.rows.row(index - back) for back in range(1, int(self.before[index]) + 1)]
        kept = previous[: self.size.nearest(map(len, previous))]
        own = self.rows.row(index)
        if not kept:
            return own
        return np.array(join_sentences([ids.tolist() for ids in kept[::-1]], own.tolist()), np.int32)

    def lengths_of(self, rows: np.ndarray) -> np.ndarray:
        """The lengths of some rows."""
        context = np.zeros(len(rows), np.int64)
        going = np.arange(len(rows))  # the places whose context may still grow
        for back in range(1, self.size.sentences + 1):
            going = going[self.before[rows[going]] >= back]
            longer = context[going] + self.rows.lengths_of(rows[going] - back) + 1
            fits = longer <= self.size.pieces
            going = going[fits]
            context[going] = longer[fits]
        return self.rows.lengths_of(rows) + context


def with_context(encoded: EncodedCorpus, split: Split, size: ContextSize) -> EncodedCorpus:
    """An encoded split whose sources are read after the previous sentences of their documents."""
    if not size.sentences:
        return encoded
    assert split.documents is not None
    before = rows_before(numbers_of(split.documents), size.sentences)
    return replace(encoded, source=ContextRows(encoded.source, before, size))


def split_context(split: Split, most: int, count: int | None = None) -> list[list[str]] | None:
    """The previous sentences of the first ``count`` pairs, the nearest last; ``None`` if none are read."""
    if not most:
        return None
    assert split.documents is not None
    source = split.source[:count]
    before = rows_before(numbers_of(split.documents[:count]), most)
    return [list(source[row - int(before[row]) : row]) for row in range(len(source))]


def rows_before(documents: np.ndarray, most: int) -> np.ndarray:
    """How many rows before each one are of the same document, ``most`` (below 256) at most: uint8."""
    rows = np.arange(len(documents))
    is_first = np.diff(documents, prepend=documents[:1] - 1) != 0
    begins = np.maximum.accumulate(np.where(is_first, rows, 0))
    return np.where(documents == NO_DOCUMENT, 0, np.minimum(rows - begins, most)).astype(np.uint8)
