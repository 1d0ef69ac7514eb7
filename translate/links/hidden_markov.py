"""The hidden Markov model of word alignment: which source word generates each target word.

Vogel et al. 1996, with a NULL state for each source position as in Och and Ney 2003, 2.1. The state of a
target word is a source position i, or NULL at i, which remembers i for the next jump:

    p(i | i') = (1 - p0) ((1 - a) c(i - i') / sum_l c(l - i') + a / I),    p(NULL | i') = p0

with counts c of jumps, a share a of uniform jumps (the smoothing of Och and Ney 2003), and -1 as the position
before the first. p0 is learnt as the share of words that NULL generates (model 3 of Brown et al. 1993 does
the same). Deviation: c counts all jumps, including those that the uniform share explains.
"""

from typing import NamedTuple

import numpy as np

NULL_PROBABILITY = 0.1  # initial p0
EVEN_SHARE = 0.2  # a: without it, words that change order would rather come from NULL than from a long jump
MAX_JUMP = 100  # positions; longer jumps share the count of this one


class Posteriors(NamedTuple):
    """Expectations for N pairs of I source and J target words."""

    links: np.ndarray  # (N, J, I) probability of each link
    null: np.ndarray  # (N, J) probability of having no link
    jumps: np.ndarray  # (2 * MAX_JUMP + 1,) expected number of each jump, from -MAX_JUMP to MAX_JUMP


def first_jumps() -> np.ndarray:
    """Initial counts of jumps, the largest for the jump to the next word."""
    return np.exp(-0.5 * np.abs(np.arange(-MAX_JUMP, MAX_JUMP + 1) - 1.0))


def model_1(emission: np.ndarray, null: np.ndarray, p0: float) -> Posteriors:
    """Posteriors of IBM model 1, in which all positions are equally likely: Brown et al. 1993, eq. 6.

    Args:
        emission: (N, J, I) probability of each target word given each source word.
        null: (N, J) probability of each target word given NULL.
        p0: probability of NULL.
    """
    joint = emission * ((1 - p0) / emission.shape[2])
    alone = p0 * null
    totals = joint.sum(2) + alone
    return Posteriors(joint / totals[..., None], alone / totals, np.zeros(2 * MAX_JUMP + 1))


def forward_backward(emission: np.ndarray, null: np.ndarray, p0: float, jumps: np.ndarray) -> Posteriors:
    """Posteriors of the hidden Markov model.

    Every step is scaled to sum to 1 (Rabiner 1989, V.A), so that long sentences do not underflow.

    Args:
        emission, null, p0: as in :func:`model_1`.
        jumps: (2 * MAX_JUMP + 1,) the counts c.
    """
    num_pairs, num_target, num_source = emission.shape
    steps, transitions = _transitions(p0, jumps, num_source)  # (I + 1, I), the first row from the start
    alone = p0 * null[..., None]  # (N, J, 1)
    linked = np.empty(emission.shape)
    unlinked = np.empty(emission.shape)  # NULL's states, by the position that they remember
    scales = np.empty(null.shape)
    arrived = emission[:, 0] * transitions[0]
    # The start has no position to remember: a NULL there remembers each as often as a link goes there.
    rested = alone[:, 0] * transitions[0] / transitions[0].sum()
    for j in range(num_target):
        if j:
            left = linked[:, j - 1] + unlinked[:, j - 1]
            arrived, rested = (left @ transitions[1:]) * emission[:, j], left * alone[:, j]
        scales[:, j] = arrived.sum(1) + rested.sum(1)
        linked[:, j] = arrived / scales[:, j, None]
        unlinked[:, j] = rested / scales[:, j, None]
    expected = np.zeros((num_source + 1, num_source))
    later = np.ones((num_pairs, num_source))  # beta, equal for a link and for the NULL that remembers it
    for j in range(num_target - 1, -1, -1):
        seen = emission[:, j] * later / scales[:, j, None]
        silent = alone[:, j] * later / scales[:, j, None]
        linked[:, j] *= later
        unlinked[:, j] *= later
        if j:
            left = linked[:, j - 1] + unlinked[:, j - 1]
            expected[1:] += (left.T @ seen) * transitions[1:]
            later = seen @ transitions[1:].T + silent
    expected[0] = linked[:, 0].sum(0)
    return Posteriors(linked, unlinked.sum(2), np.bincount(steps.ravel(), expected.ravel(), 2 * MAX_JUMP + 1))


def _transitions(p0: float, jumps: np.ndarray, num_source: int) -> tuple[np.ndarray, np.ndarray]:
    """Index into `jumps` and probability of each step, from the start and from each position: (I + 1, I)."""
    distance = np.arange(num_source)[None, :] - np.arange(-1, num_source)[:, None]
    steps = np.clip(distance, -MAX_JUMP, MAX_JUMP) + MAX_JUMP
    near = jumps[steps] / jumps[steps].sum(1, keepdims=True)
    return steps, (1 - p0) * ((1 - EVEN_SHARE) * near + EVEN_SHARE / num_source)
