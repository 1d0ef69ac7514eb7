"""Source rows with the previous sentences of their documents, joined when a batch needs them."""

from dataclasses import dataclass, replace

import numpy as np

from translate.corpora.batching import EncodedCorpus
from translate.corpora.columns.column import Column
from translate.corpora.columns.ragged import Rows
from translate.corpora.documents.ids import NO_DOCUMENT
from translate.corpora.split import Split
from translate.text.documents import ContextSize, join_sentences


@dataclass(frozen=True)
class ContextRows:
    """The sources of a split, each after the previous sentences of its document.

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

    @property
    def lengths(self) -> np.ndarray:
        return self.lengths_of(np.arange(self.num_rows))

    def row(self, index: int) -> np.ndarray:
        """The ids of a source, without the end of sentence."""
        previous = [self.rows.row(index - back) for back in range(1, int(self.before[index]) + 1)]
        kept = previous[: self.size.nearest(map(len, previous))]
        own = self.rows.row(index)
        if not kept:
            return own
        return np.array(join_sentences([each.tolist() for each in kept[::-1]], own.tolist()), np.int32)

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
    return replace(encoded, source=ContextRows(encoded.source, rows_before(split, size.sentences), size))


def split_context(split: Split, most: int, count: int | None = None) -> list[list[str]] | None:
    """The previous sentences of the first ``count`` pairs, the nearest last; ``None`` if none are read."""
    if not most:
        return None
    source = split.source[:count]
    before = rows_before(split, most)
    return [list(source[row - int(before[row]) : row]) for row in range(len(source))]


def rows_before(split: Split, most: int) -> np.ndarray:
    """How many rows before each one are of the same document, ``most`` (below 256) at most: uint8."""
    assert split.documents is not None
    found = np.zeros(len(split), np.uint8)
    begin, last, count = 0, NO_DOCUMENT, 0
    for array in Column.of(split.documents, text=False).arrays:
        documents = array.to_numpy()
        if not len(documents):
            continue
        starts = np.flatnonzero(np.diff(documents, prepend=documents[0]))
        edges = np.concatenate([[0], starts, [len(documents)]]).astype(np.int64)
        places = np.arange(len(documents)) - np.repeat(edges[:-1], np.diff(edges))
        if documents[0] == last:
            places[: edges[1]] += count
        places[documents == NO_DOCUMENT] = 0
        found[begin : begin + len(documents)] = np.minimum(places, most)
        begin, last, count = begin + len(documents), int(documents[-1]), int(places[-1]) + 1
    return found
