"""The hidden Markov model against the enumeration of all alignments of small sentences."""

from itertools import product

import numpy as np
import pytest

from translate.links.hidden_markov import (
    EVEN_SHARE,
    MAX_JUMP,
    first_jumps,
    forward_backward,
    model_1,
)

PAIRS, TARGET, SOURCE = 2, 5, 3
P0 = 0.13  # of NULL


def _example() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(7)
    emission, null = generator.random((PAIRS, TARGET, SOURCE)), generator.random((PAIRS, TARGET))
    return emission, null, generator.random(2 * MAX_JUMP + 1)


def _step(jumps: np.ndarray, before: int, position: int) -> float:
    total = sum(jumps[MAX_JUMP + other - before] for other in range(SOURCE))
    near = jumps[MAX_JUMP + position - before] / total
    return float((1 - P0) * ((1 - EVEN_SHARE) * near + EVEN_SHARE / SOURCE))


def _by_enumeration(
    emission: np.ndarray, null: np.ndarray, jumps: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Expectations for one pair, over all sequences of states (position, is NULL)."""
    links, unlinked, expected = np.zeros((TARGET, SOURCE)), np.zeros(TARGET), np.zeros(2 * MAX_JUMP + 1)
    total = 0.0
    start = [_step(jumps, -1, position) for position in range(SOURCE)]
    for path in product(product(range(SOURCE), (False, True)), repeat=TARGET):
        probability, before = 1.0, -1
        for j, (position, is_null) in enumerate(path):
            if is_null and j and position != before:
                probability = 0.0  # NULL remembers the position before
                break
            if is_null:
                at_start = start[position] / sum(start) if j == 0 else 1.0
                probability *= P0 * at_start * null[j]
            else:
                probability *= _step(jumps, before, position) * emission[j, position]
            before = position
        total += probability
        before = -1
        for j, (position, is_null) in enumerate(path):
            if is_null:
                unlinked[j] += probability
            else:
                links[j, position] += probability
                expected[MAX_JUMP + position - before] += probability
            before = position
    return links / total, unlinked / total, expected / total


def test_posteriors_equal_enumeration() -> None:
    emission, null, jumps = _example()
    found = forward_backward(emission, null, P0, jumps)
    expected = [_by_enumeration(emission[n], null[n], jumps) for n in range(PAIRS)]
    np.testing.assert_allclose(found.links, [each[0] for each in expected], atol=1e-12)
    np.testing.assert_allclose(found.null, [each[1] for each in expected], atol=1e-12)
    np.testing.assert_allclose(found.jumps, sum(each[2] for each in expected), atol=1e-12)


def test_model_1_equals_its_formula() -> None:
    emission, null, _ = _example()
    found = model_1(emission, null, P0)
    for n, j in product(range(PAIRS), range(TARGET)):
        each = [(1 - P0) / SOURCE * emission[n, j, i] for i in range(SOURCE)]
        alone = P0 * null[n, j]
        assert found.null[n, j] == pytest.approx(alone / (sum(each) + alone))
        assert found.links[n, j] == pytest.approx([one / (sum(each) + alone) for one in each])


def test_long_sentences_do_not_underflow() -> None:
    length = 2 * MAX_JUMP + 31
    emission, null = np.full((1, length, length), 1e-12), np.full((1, length), 1e-12)
    found = forward_backward(emission, null, P0, first_jumps())
    np.testing.assert_allclose(found.links.sum(2) + found.null, 1.0)
