from dataclasses import replace

import numpy as np

from translate.alignment.evidence import PairWords, alignment_scores, estimated_golds
from translate.alignment.pairs import EncodedPair
from translate.corpora.images.patches import Image
from translate.links.links import parse_gold

PICTURE = Image(np.zeros((4, 8, 3), np.uint8), 4)


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


def test_words_are_not_linked_to_patches_of_pictures():
    pairs = [_pair("1,1 1,2", "a dog"), _pair("1,1 1,2", "a cat")]
    assert len(estimated_golds(pairs)) == 2
    assert estimated_golds([replace(pair, picture=PICTURE) for pair in pairs]) == []
