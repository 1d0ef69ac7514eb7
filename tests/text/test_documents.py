"""Sentences with those before them as one source."""

import pytest

from translate.text.documents import (
    ContextSize,
    as_one,
    in_context,
    join_sentences,
    own_start,
    previous_sentences,
)
from translate.text.tokenizer import BOS, Pieces
from translate.text.words import Word


def test_sentences_are_joined_in_their_order_with_a_separator_after_each_but_the_last() -> None:
    assert join_sentences([[7, 8], [9]], [11, 12]) == [7, 8, BOS, 9, BOS, 11, 12]
    assert own_start([7, 8, BOS, 9, BOS, 11, 12]) == 5
    assert join_sentences([], [11]) == [11]
    assert own_start([11]) == own_start([]) == 0


@pytest.mark.parametrize(
    ("sentences", "pieces", "lengths", "read"),
    [
        (2, 100, [5, 5, 5], 2),
        (5, 100, [5, 5, 5], 3),
        (5, 12, [5, 5, 5], 2),  # 6 and 6 with their separators
        (5, 11, [5, 5, 5], 1),
        (5, 11, [20, 1], 0),  # the nearest is too long: those behind it are not read in its place
        (0, 100, [5], 0),
        (3, 100, [], 0),
    ],
)
def test_the_nearest_sentences_are_read_up_to_both_limits(
    sentences: int, pieces: int, lengths: list[int], read: int
) -> None:
    assert ContextSize(sentences, pieces).nearest(lengths) == read


def test_pieces_of_previous_sentences_belong_to_no_word() -> None:
    own = Pieces([11, 12, 13], [0, 0, 1], [Word("ab", 0, 2), Word("c", 3, 4)], ((2, 0),))
    found = in_context(own, [[7], [8, 9]])
    assert found.ids == [7, BOS, 8, 9, BOS, 11, 12, 13]
    assert found.piece_words == [-1, -1, -1, -1, -1, 0, 0, 1]
    assert found.words == own.words
    assert found.further == ((7, 0),)
    assert in_context(own, []) is own
    blank = Pieces([], [], [])
    assert in_context(blank, [[7]]) is blank


def test_a_document_as_one_source_has_the_words_of_all_sentences() -> None:
    first = Pieces([7, 8], [0, 1], [Word("x", 0, 1), Word("y", 2, 3)])
    second = Pieces([9, 10], [0, 0], [Word("z", 0, 1), Word("u", 2, 3)], ((1, 1),))
    found = as_one([first, second])
    assert found.ids == [7, 8, BOS, 9, 10]
    assert found.piece_words == [0, 1, -1, 2, 2]
    assert [word.text for word in found.words] == ["x", "y", "z", "u"]
    assert found.further == ((4, 3),)


def test_previous_sentences_end_with_their_document() -> None:
    lines = ["a", "b", "c", "", "d", "e"]
    assert list(previous_sentences(lines, 2)) == [[], ["a"], ["a", "b"], ["b", "c"], [], ["d"]]
    ids = ["x", "x", "y", "y", "y", "x"]
    assert list(previous_sentences("abcdef", 9, ids)) == [[], ["a"], [], ["c"], ["c", "d"], []]
    assert list(previous_sentences(["a", "b"], 0)) == [[], []]
