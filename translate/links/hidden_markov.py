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
    """Expectations for N pairs of up to I source and J target words, with 0 beyond the words of a pair."""

    links: np.ndarray  # (N, J, I) probability of each link
    null: np.ndarray  # (N, J) probability of having no link
    jumps: np.ndarray  # (2 * MAX_JUMP + 1,) expected number of each jump, from -MAX_JUMP to MAX_JUMP


def first_jumps() -> np.ndarray:
    """Initial counts of jumps, the largest for the jump to the next word."""
    return np.exp(-0.5 * np.abs(np.arange(-MAX_JUMP, MAX_JUMP + 1) - 1.0))


def model_1(
    emission: np.ndarray, null: np.ndarray, p0: float, jumps: np.ndarray, lengths: np.ndarray
) -> Posteriors:
    """Posteriors of IBM model 1, in which all positions are equally likely: Brown et al. 1993, eq. 6.

    Args:
        emission: (N, J, I) probability of each target word given each source word; 0 beyond a pair's words.
        null: (N, J) probability of each target word given NULL.
        p0: probability of NULL.
        jumps: not used.
        lengths: (2, N) the numbers of source and target words of each pair, at most I and J.
    """
    words = np.arange(null.shape[1]) < lengths[1, :, None]
    joint = emission * ((1 - p0) / lengths[0, :, None, None])
    alone = np.where(words, p0 * null, 1.0)
    totals = joint.sum(2) + alone
    return Posteriors(joint / totals[..., None], alone / totals * words, np.zeros(2 * MAX_JUMP + 1))


def forward_backward(
    emission: np.ndarray, null: np.ndarray, p0: float, jumps: np.ndarray, lengths: np.ndarray
) -> Posteriors:
    """Posteriors of the hidden Markov model.

    Every step is scaled to sum to 1 (Rabiner 1989, V.A), so that long sentences do not underflow. Beyond the
    last target word of a pair only NULL is possible, with probability 1, which changes no posterior.

    Args:
        emission, null, p0, lengths: as in :func:`model_1`.
        jumps: (2 * MAX_JUMP + 1,) the counts c.
    """
    num_pairs, num_target, num_source = emission.shape
    num_words, words = lengths[0, :, None], np.arange(num_target) < lengths[1, :, None]
    distance = np.arange(num_source)[None, :] - np.arange(-1, num_source)[:, None]
    steps = np.clip(distance, -MAX_JUMP, MAX_JUMP) + MAX_JUMP  # (I + 1, I), the first row from the start
    counts = jumps[steps]
    near = (1 - p0) * (1 - EVEN_SHARE) / counts.cumsum(1)[:, lengths[0] - 1].T  # (N, I + 1)
    even = (1 - p0) * EVEN_SHARE / num_words
    start = (near[:, :1] * counts[0] + even) * (np.arange(num_source) < num_words)
    near, counts = near[:, 1:], counts[1:]
    alone = np.where(words, p0 * null, 1.0)[..., None]  # (N, J, 1)
    linked = np.empty(emission.shape)
    unlinked = np.empty(emission.shape)  # NULL's states, by the position that they remember
    scales = np.empty(alone.shape)
    arrived = emission[:, 0] * start
    # The start has no position to remember: a NULL there remembers each as often as a link goes there.
    rested = alone[:, 0] * start / start.sum(1, keepdims=True)
    for j in range(num_target):
        if j:
            left = linked[:, j - 1] + unlinked[:, j - 1]
            arrived = ((left * near) @ counts + even * left.sum(1, keepdims=True)) * emission[:, j]
            rested = left * alone[:, j]
        scales[:, j] = (arrived + rested).sum(1, keepdims=True)
        linked[:, j] = arrived / scales[:, j]
        unlinked[:, j] = rested / scales[:, j]
    left = linked[:, :-1] + unlinked[:, :-1]
    seen, silent = emission / scales, alone / scales
    later = np.ones((num_pairs, num_source))  # beta, equal for a link and for the NULL that remembers it
    for j in range(num_target - 1, -1, -1):
        for part in (linked, unlinked, seen):
            part[:, j] *= later
        here = seen[:, j]
        later = (here @ counts.T) * near + even * here.sum(1, keepdims=True) + silent[:, j] * later
    expected = np.zeros((num_source + 1, num_source))
    expected[0] = linked[:, 0].sum(0)
    moved = seen[:, 1:].reshape(-1, num_source)
    for share, to in ((near, counts), (even, 1.0)):
        expected[1:] += (left * share[:, None]).reshape(-1, num_source).T @ moved * to
    totals = np.bincount(steps.ravel(), expected.ravel(), 2 * MAX_JUMP + 1)
    return Posteriors(linked, unlinked.sum(2) * words, totals)
