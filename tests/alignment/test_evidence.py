import numpy as np

from translate.alignment.evidence import PairWords, alignment_scores, consistency, silver_scores
from translate.alignment.pairs import EncodedPair
from translate.links.links import parse_gold


def _pair(source, target):
    source_words, target_words = source.split(), target.split()
    pieces = range(len(source_words)), range(len(target_words))
    return EncodedPair(pieces[0], pieces[1], pieces[0], pieces[1], source_words, target_words)


def test_alignment_error_rate_by_hand():
    words = PairWords.of([_pair("a b c", "d e"), _pair("a b", "f")])
    golds = [parse_gold("0-0 2p1", where="x"), parse_gold("1-0", where="x")]
    links = np.array([[0, 2, 1], [0, -1, 0], [-1, -1, -1]])
    # Two of two sure links and one possible; one sure link of two links; no link.
    expected = [1 - (3 + 2) / (3 + 2), 1 - (1 + 1) / (2 + 2), 1]
    found = alignment_scores(links, words, golds)
    np.testing.assert_allclose([each.aer for each in found], expected)
    np.testing.assert_allclose([each.precision for each in found], [1, 1 / 2, 1])
    np.testing.assert_allclose([each.recall for each in found], [1, 1 / 2, 0])


def test_silver_by_hand():
    # Silver are Paris and big; the last points are left out, as is "on", which occurs twice.
    words = PairWords.of([_pair("Paris on big on .", "big Paris on ."), _pair("x y", "z")])
    links = np.array(
        [
            [2, 0, 1, 4, 0],  # both right, and no other link touches their words
            [0, 0, 0, 0, 0],  # a sink: one right, four touch
            [-1, 0, -1, 4, -1],  # one right of one
            [0, 2, 1, 4, 0],  # both wrong
        ]
    )
    number, scores = silver_scores(links, words)
    assert number == 2
    np.testing.assert_allclose(scores, [1, 2 / (4 + 2), 2 / (1 + 2), 0])


def test_consistency_by_hand():
    words = PairWords.of([_pair("x y", "a b"), _pair("y x x", "b a")])
    links = np.array(
        [
            [0, 1, 0, 1],  # a to x, b to y, twice: P = 1, E = (2 + 2) / 12
            [0, 0, 0, 0],  # a to x and y, b to x and y: P = 0, E = 1 / 3
            [0, 1, 0, -1],  # b to y twice: P = 1, E = 2 / 6, three of four words linked
            [0, 0, 1, 1],  # all to x: P = E = 1
            [-1, 0, -1, -1],  # nothing repeated
        ]
    )
    number, values = consistency(links, words)
    assert number == 4
    np.testing.assert_allclose(values, [1, -0.5, 0.75, 0, 0])
