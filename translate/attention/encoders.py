"""Attention of one sequence to itself, as an encoder's only layer: the encoder-only variants.

A query is a state of the sequence itself: ``mechanism(states, mechanism.prepare(states, mask))``.
"""

from translate.attention.mechanisms import Dot
from translate.attention.multi_head import ScaledDot


class SelfDot(Dot):
    """softmax(x^T x) x, the auto-correlation of a sequence, without projections or scale."""


class SelfQKV(ScaledDot):
    """softmax((W_q x)^T (W_k x) / sqrt(d)) W_v x of one sequence: Vaswani et al. 2017, 3.2.3, one head."""
