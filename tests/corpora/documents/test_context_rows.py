"""Sources with the previous sentences of their documents, against plain loops."""

import random

import numpy as np
import pytest
import torch

from translate.corpora.batching import POSITION_BITS, EncodedCorpus, collate
from translate.corpora.columns.ragged import PART, Ragged, RaggedParts
from translate.corpora.documents.context_rows import rows_before, split_context, with_context
from translate.corpora.split import Split
from translate.text.documents import ContextSize
from translate.text.tokenizer import BOS, EOS

DOCUMENTS = [4, 4, 4, 4, 0, 0, 9, 9, 4, 4, 9, 4]


def expected(ids: list[list[int]], documents: list[int], row: int, size: ContextSize) -> list[int]:
    """The source of a row, by going back sentence by sentence."""
    found, total = list(ids[row]), 0
    for back in range(1, size.sentences + 1):
        before = row - back
        if before < 0 or documents[row] == 0 or documents[before] != documents[row]:
            break
        total += len(ids[before]) + 1
        if total > size.pieces:
            break
        found = [*ids[before], BOS, *found]
    return found


@pytest.mark.parametrize("size", [ContextSize(1, 100), ContextSize(3, 100), ContextSize(20, 9)])
def test_rows_and_lengths_are_those_of_plain_loops(size: ContextSize) -> None:
    draw = random.Random(7)
    ids = [[draw.randrange(4, 40) for _ in range(draw.randrange(1, 6))] for _ in DOCUMENTS]
    sides = Ragged.of(ids), Ragged.of([[5]] * len(ids))
    split = Split(["x"] * len(ids), ["y"] * len(ids), documents=DOCUMENTS)
    rows = with_context(EncodedCorpus(*sides), split, size).source
    wanted = [expected(ids, DOCUMENTS, row, size) for row in range(len(ids))]
    assert [rows.row(row).tolist() for row in range(len(ids))] == wanted
    assert rows.lengths.tolist() == [len(each) for each in wanted]
    chosen = np.array([11, 2, 2, 7, 0])
    assert rows.lengths_of(chosen).tolist() == [len(wanted[row]) for row in chosen]
    assert rows.num_rows == len(ids)


def test_a_document_goes_on_in_the_next_part_of_a_table() -> None:
    first, second = Split(["a"] * 5, ["b"] * 5, documents=[1, 1, 2, 2, 2]), [2, 2, 3]
    both = Split(["a"] * 8, ["b"] * 8, documents=[1, 1, 2, 2, 2, *second])
    parts = both.without([])  # columns
    assert rows_before(parts, 7).tolist() == [0, 1, 0, 1, 2, 3, 4, 0]
    joined = both.without([1])  # the rows before and after are two arrays
    assert rows_before(joined, 7).tolist() == [0, 0, 1, 2, 3, 4, 0]
    assert rows_before(both.without([3]), 2).tolist() == [0, 1, 0, 1, 2, 2, 0]
    assert rows_before(first, 1).tolist() == [0, 1, 0, 1, 1]


def test_rows_of_several_parts() -> None:
    count = PART + 3
    parts = RaggedParts([Ragged.of([[5]] * PART), Ragged.of([[6], [7], [8]])])
    split = Split(["x"] * count, ["y"] * count, documents=[1] * count)
    rows = with_context(EncodedCorpus(parts, parts), split, ContextSize(2, 100)).source
    assert rows.row(PART + 1).tolist() == [5, BOS, 6, BOS, 7]
    assert rows.lengths_of(np.array([PART + 1, 0])).tolist() == [5, 1]


def test_links_count_from_the_sentence_itself() -> None:
    ids = [[10, 11, 12], [13, 14]]
    links = Ragged.of([[], [0 << POSITION_BITS | 0, 1 << POSITION_BITS | 1]])
    corpus = EncodedCorpus(Ragged.of(ids), Ragged.of([[5], [6, 7]]), links)
    split = Split(["x"] * 2, ["y"] * 2, documents=[1, 1])
    batch = collate(with_context(corpus, split, ContextSize(1, 100)), [1, 0])
    assert batch.source[0].tolist() == [10, 11, 12, BOS, 13, 14, EOS]
    assert batch.guide is not None
    wanted = torch.zeros(2, 3, 7)
    wanted[0, 0, 4] = wanted[0, 1, 5] = 1
    assert torch.equal(batch.guide, wanted)


def test_the_previous_sentences_of_a_split() -> None:
    split = Split(list("abcdefghijkl"), ["y"] * 12, documents=DOCUMENTS)
    found = split_context(split, 2)
    assert found is not None
    assert found[:5] == [[], ["a"], ["a", "b"], ["b", "c"], []]
    assert found[9] == ["i"]
    assert split_context(split, 2, 3) == found[:3]
    assert split_context(split, 0) is None
