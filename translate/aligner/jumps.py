"""The hidden Markov model of word alignment: which source word each target word comes from, of many pairs.

Vogel et al. 1996, with a NULL word for each source place as in Och and Ney 2003, 2.1. The state of a target
word is a source place i, or NULL after i, which remembers i for the next jump:

    p(i | i') = (1 - p0) ((1 - a) c(i - i') / sum_l c(l - i') + a / I),    p(NULL | i') = p0

with counts c of jumps, a share a of even jumps (the smoothing of Och and Ney 2003), and -1 as the place
before the first. p0 is learnt, as often as a word is NULL's (Brown et al. 1993 count it likewise in model 3).
Deviation: c counts whole steps, those that an even jump explains included.
"""

from typing import NamedTuple

import numpy as np

NULL_PROBABILITY = 0.1  # p0, to begin with
EVEN_SHARE = 0.2  # a: words that change order jump far, and would rather be NULL's without it
MAX_JUMP = 100  # places; longer jumps count as this one


class Posteriors(NamedTuple):
    """What the model believes of N pairs of I source and J target words."""

    links: np.ndarray  # (N, J, I) probability of each link
    null: np.ndarray  # (N, J) probability of having no link
    jumps: np.ndarray  # (2 * MAX_JUMP + 1,) expected number of each jump, from -MAX_JUMP on


def first_jumps() -> np.ndarray:
    """Counts to begin with: the next word is the likeliest."""
    return np.exp(-0.5 * np.abs(np.arange(-MAX_JUMP, MAX_JUMP + 1) - 1.0))


def without_places(emission: np.ndarray, null: np.ndarray, p0: float) -> Posteriors:
    """IBM model 1, where each place is as likely: Brown et al. 1993, eq. 6.

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
    """Posteriors of the hidden Markov model; arguments as above, and the counts c of jumps.

    Every step is scaled to sum to 1 (Rabiner 1989, V.A), so that long sentences do not underflow.
    """
    num_pairs, num_target, num_source = emission.shape
    steps, transitions = _transitions(p0, jumps, num_source)  # (I + 1, I), the first row from the start
    alone = p0 * null[..., None]  # (N, J, 1)
    linked = np.empty(emission.shape)
    unlinked = np.empty(emission.shape)  # NULL's states, by the place that they remember
    scales = np.empty(null.shape)
    arrived = emission[:, 0] * transitions[0]
    # The start has no place to remember: a NULL there remembers one at random, as likely as a link to it.
    rested = alone[:, 0] * transitions[0] / transitions[0].sum()
    for j in range(num_target):
        if j:
            left = linked[:, j - 1] + unlinked[:, j - 1]
            arrived, rested = (left @ transitions[1:]) * emission[:, j], left * alone[:, j]
        scales[:, j] = arrived.sum(1) + rested.sum(1)
        linked[:, j] = arrived / scales[:, j, None]
        unlinked[:, j] = rested / scales[:, j, None]
    expected = np.zeros((num_source + 1, num_source))
    later = np.ones((num_pairs, num_source))  # beta, the same of a link and of the NULL that remembers it
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
    """Place in `jumps` and probability of each step, from the start and from each place: (I + 1, I)."""
    distance = np.arange(num_source)[None, :] - np.arange(-1, num_source)[:, None]
    steps = np.clip(distance, -MAX_JUMP, MAX_JUMP) + MAX_JUMP
    near = jumps[steps] / jumps[steps].sum(1, keepdims=True)
    return steps, (1 - p0) * ((1 - EVEN_SHARE) * near + EVEN_SHARE / num_source)
