"""Four target words, three source words, number by number: pooling, shift, links, both directions, AER."""

import numpy as np
import pytest

from translate.alignment.alignment import AlignmentChoice
from translate.alignment.methods import align
from translate.alignment.pairs import EncodedPair
from translate.links.links import Gold, score
from translate.links.symmetrise import symmetrise
from translate.text.tokenizer import EOS

# look | it | u p | </s> to cherchez | - | le | donc; the rows are of <s>, cherchez, -, le, donc as input.
ROWS = [
    [0.20, 0.20, 0.10, 0.10, 0.40],  # predicts cherchez: words .2 .2 .2, renormalised 1/3 1/3 1/3
    [0.30, 0.10, 0.20, 0.20, 0.20],  # cherchez is the input: .3 .1 .4 -> .375 .125 .5
    [0.10, 0.30, 0.05, 0.05, 0.50],  # -: .1 .3 .1 -> .2 .6 .2
    [0.00, 0.80, 0.00, 0.00, 0.20],  # le: 0 1 0
    [0.06, 0.02, 0.01, 0.01, 0.90],  # donc: .06 .02 .02 -> .6 .2 .2
]
FORWARD = EncodedPair(
    [5, 6, 7, 8, EOS], [11, 12, 13, 14], [0, 1, 2, 2, -1], [0, 1, 2, 3],
    ["look", "it", "up"], ["cherchez", "-", "le", "donc"],
)  # fmt: skip
# The other direction: cherchez | - | le | donc | </s> to look | it | u | p.
BACK = [
    [0.70, 0.10, 0.10, 0.00, 0.10],  # predicts look: .7 .1 .1 0 -> 7/9 1/9 1/9 0
    [0.00, 0.10, 0.40, 0.00, 0.50],  # it: 0 .2 .8 0
    [0.30, 0.00, 0.00, 0.50, 0.20],  # u: .375 0 0 .625
    [0.10, 0.00, 0.00, 0.10, 0.80],  # p: .5 0 0 .5; the word up: .4375 0 0 .5625
    [0.25, 0.25, 0.25, 0.25, 0.00],
]
BACKWARD = EncodedPair(
    [11, 12, 13, 14, EOS], [5, 6, 7, 8], [0, 1, 2, 3, -1], [0, 1, 2, 2],
    ["cherchez", "-", "le", "donc"], ["look", "it", "up"],
)  # fmt: skip


def _align(fake_model, rows, pair, shift):
    model = fake_model(lambda source, target: np.array([[rows]]), 1, 1)
    return align(model, [pair], AlignmentChoice(0, (0,), shift))[0]


@pytest.fixture
def forward(fake_model):
    return _align(fake_model, ROWS, FORWARD, 1)


@pytest.fixture
def backward(fake_model):
    return _align(fake_model, BACK, BACKWARD, 0)


def test_pooling_and_shift(fake_model, forward, backward):
    shifted: list[list[float]] = [[0.375, 0.125, 0.5], [0.2, 0.6, 0.2], [0, 1, 0], [0.6, 0.2, 0.2]]
    np.testing.assert_allclose(forward.weights, shifted, atol=1e-6)
    unshifted: list[list[float]] = [[1 / 3, 1 / 3, 1 / 3], *shifted[:3]]
    np.testing.assert_allclose(_align(fake_model, ROWS, FORWARD, 0).weights, unshifted, atol=1e-6)
    expected = [[7 / 9, 1 / 9, 1 / 9, 0], [0, 0.2, 0.8, 0], [0.4375, 0, 0, 0.5625]]
    np.testing.assert_allclose(backward.weights, expected, atol=1e-6)


def test_links_symmetrisation_and_error_rate(forward, backward):
    there = forward.links()
    assert there == {(2, 0), (1, 1), (1, 2), (0, 3)}
    assert forward.links(0.375) == {(0, 0), (2, 0), (1, 1), (1, 2), (0, 3)}
    back = {(source, target) for target, source in backward.links()}
    assert back == {(0, 0), (1, 2), (2, 3)}
    gold = Gold(frozenset({(0, 0), (2, 0), (1, 2)}), frozenset({(0, 0), (2, 0), (1, 2), (1, 1)}))
    # From 1-2: 1-1, its target is free; 0-3 and 2-3, their sources are; then from 1-1: 0-0, its target is.
    # By then both words of 2-0 are linked, so that no variant but the union has it.
    grown = {(1, 2), (1, 1), (0, 3), (2, 3), (0, 0)}
    expected = {
        # links, and the sizes of A, of A and P, of A and S; |S| = 3
        "intersection": ({(1, 2)}, 1, 1, 1),
        "grow-diag": (grown, 5, 3, 2),
        "grow-diag-final": (grown, 5, 3, 2),
        "grow-diag-final-and": (grown, 5, 3, 2),
        "union": (grown | {(2, 0)}, 6, 4, 3),
    }
    for method, (links, size, possible, sure) in expected.items():
        found = symmetrise(there, back, method)
        assert found == links
        scores = score([found], [gold])
        assert scores.aer == pytest.approx(1 - (possible + sure) / (size + 3))
        assert scores.precision == pytest.approx(possible / size)
        assert scores.recall == pytest.approx(sure / 3)
