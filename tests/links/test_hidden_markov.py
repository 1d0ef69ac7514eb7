"""The hidden Markov model against the enumeration of all alignments of small sentences."""

from itertools import product

import numpy as np
import pytest

from translate.links.hidden_markov import EVEN_SHARE, MAX_JUMP, forward_backward, model_1

LENGTHS = np.array([[3, 3, 2], [5, 4, 5]])  # source and target words of three pairs
P0 = 0.13  # of NULL


def _example() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(7)
    emission, null = generator.random((3, 5, 3)), generator.random((3, 5))
    for number, (source, target) in enumerate(LENGTHS.T):
        emission[number, target:] = emission[number, :, source:] = 0
    return emission, null, generator.random(2 * MAX_JUMP + 1)


def _step(jumps: np.ndarray, before: int, position: int, source: int) -> float:
    total = sum(jumps[MAX_JUMP + other - before] for other in range(source))
    near = jumps[MAX_JUMP + position - before] / total
    return float((1 - P0) * ((1 - EVEN_SHARE) * near + EVEN_SHARE / source))


def _by_enumeration(
    emission: np.ndarray, null: np.ndarray, jumps: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Expectations for one pair, over all sequences of states (position, is NULL)."""
    target, source = emission.shape
    links, unlinked, expected = np.zeros(emission.shape), np.zeros(target), np.zeros(2 * MAX_JUMP + 1)
    total = 0.0
    start = [_step(jumps, -1, position, source) for position in range(source)]
    for path in product(product(range(source), (False, True)), repeat=target):
        probability, before = 1.0, -1
        for j, (position, is_null) in enumerate(path):
            if is_null and j and position != before:
                probability = 0.0  # NULL remembers the position before
                break
            if is_null:
                at_start = start[position] / sum(start) if j == 0 else 1.0
                probability *= P0 * at_start * null[j]
            else:
                probability *= _step(jumps, before, position, source) * emission[j, position]
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
    found = forward_backward(emission, null, P0, jumps, LENGTHS)
    expected = np.zeros(2 * MAX_JUMP + 1)
    for number, (source, target) in enumerate(LENGTHS.T):
        one = _by_enumeration(emission[number, :target, :source], null[number, :target], jumps)
        padding = (0, 5 - target), (0, 3 - source)
        np.testing.assert_allclose(found.links[number], np.pad(one[0], padding), atol=1e-12)
        np.testing.assert_allclose(found.null[number], np.pad(one[1], padding[0]), atol=1e-12)
        expected += one[2]
    np.testing.assert_allclose(found.jumps, expected, atol=1e-12)


def test_model_1_equals_its_formula() -> None:
    emission, null, jumps = _example()
    found = model_1(emission, null, P0, jumps, LENGTHS)
    for n, (source, target) in enumerate(LENGTHS.T):
        for j in range(target):
            linked = (1 - P0) / source * emission[n, j, :source]
            alone = P0 * null[n, j]
            assert found.null[n, j] == pytest.approx(alone / (linked.sum() + alone))
            assert found.links[n, j, :source] == pytest.approx(
                [one / (linked.sum() + alone) for one in linked]
            )
        assert found.links[n, target:].sum() == found.null[n, target:].sum() == 0
