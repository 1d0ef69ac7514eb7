"""Mechanisms in which the distance between a query and a key counts: windows, and biases by distance.

Shapes: B batch, S source, T target, H heads.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn

from translate.attention.contract import check_size, register
from translate.attention.dot_product import HEADS, General, Heads, MultiHead
from translate.attention.functional import masked_softmax
from translate.attention.memory import Memory, lengths_of
from translate.config.option_groups import Width, flat_options

GAUSSIANS = ("after", "before")
WINDOWED = Heads(window=32)


@register("sliding_window")
class SlidingWindow(MultiHead):
    """Multi-head attention to the keys at most ``window`` positions away: Beltagy et al. 2020, 3.1.

    a(i, j) = softmax over j of q_i^T k_j / sqrt(E), where |i - j| <= window; with ``causal`` 0 <= i - j. A
    target position more than ``window`` past the end of a source sees nothing of it.

    Args:
        query_size: width of a query.
        key_size: width of a source state.
        heads, causal: as :class:`MultiHead`; ``heads.window`` is required.
    """

    @flat_options
    def __init__(
        self, query_size: int, key_size: int, heads: Heads = WINDOWED, *, causal: bool = False
    ) -> None:
        if heads.window is None:
            raise ValueError("window: expected at least 1, got null; without a window, use multi_head")
        super().__init__(query_size, key_size, heads, causal=causal)


@register("alibi")
class ALiBi(MultiHead):
    """softmax(q_i^T k_j / sqrt(E) - m_h |i - j|) v: Press et al. 2022, 3.

    The slopes of H heads are m_h = 2^(-8 h / H), h = 1 .. H. If H is no power of two, they are those of the
    power below, then every other one of the power above, as in the authors' code. The paper is causal;
    without ``causal`` the bias falls with distance on both sides.

    Args:
        query_size: width of a query.
        key_size: width of a source state.
        heads, causal: as :class:`MultiHead`.
    """

    biased = True
    slopes: Tensor

    @flat_options
    def __init__(self, query_size: int, key_size: int, heads: Heads = HEADS, *, causal: bool = False) -> None:
        super().__init__(query_size, key_size, heads, causal=causal)
        self.register_buffer("slopes", torch.tensor(alibi_slopes(self.num_heads)), persistent=False)

    def distance_bias(self, distances: Tensor) -> Tensor:
        slopes = self.slopes.view(-1, *[1] * distances.dim())
        return -slopes * distances.abs()


def alibi_slopes(num_heads: int) -> list[float]:
    """The slope of each head: Press et al. 2022, 3."""
    power = 2 ** int(math.log2(num_heads))
    slopes = [2 ** (-8 * (head + 1) / power) for head in range(power)]
    above = [2 ** (-4 * (head + 1) / power) for head in range(0, 2 * power, 2)]
    return slopes + above[: num_heads - power]


@register("relative_bias")
class RelativeBias(MultiHead):
    """softmax(q_i^T k_j / sqrt(E) + b_h[bucket(j - i)]) v: Raffel et al. 2020, 2.1.

    Each small distance has a bucket. Larger ones share buckets whose width grows as the logarithm, and all
    from ``max_distance`` on share the last. Deviations: T5 leaves out 1 / sqrt(E) and shares b among layers.

    Args:
        query_size: width of a query.
        key_size: width of a source state.
        num_buckets: of distances; half of them for keys after the query unless ``causal``.
        max_distance: where the last bucket begins.
        heads, causal: as :class:`MultiHead`.
    """

    biased = True

    @flat_options
    def __init__(
        self,
        query_size: int,
        key_size: int,
        num_buckets: Width = 32,
        max_distance: int = 128,
        heads: Heads = HEADS,
        *,
        causal: bool = False,
    ) -> None:
        super().__init__(query_size, key_size, heads, causal=causal)
        self.num_buckets = check_size("num_buckets", num_buckets, num_buckets, least=4)
        self.max_distance = check_size("max_distance", max_distance, max_distance, least=num_buckets)
        self.distance_weight = nn.Parameter(torch.zeros(num_buckets, self.num_heads))

    def distance_bias(self, distances: Tensor) -> Tensor:
        buckets = distance_buckets(distances, self.num_buckets, self.max_distance, causal=self.causal)
        return self.distance_weight[buckets].movedim(-1, 0)


def distance_buckets(distances: Tensor, num_buckets: int, max_distance: int, *, causal: bool) -> Tensor:
    """The bucket of each distance (key's position - query's), any shape int64: Raffel et al. 2020, 2.1."""
    offset = torch.zeros_like(distances)
    if not causal:
        num_buckets //= 2
        offset = (distances > 0) * num_buckets
        away = distances.abs()
    else:
        away = (-distances).clamp_min(0)
    exact = num_buckets // 2
    # float64: a bucket must not depend on how float32 rounds a logarithm
    ratio = (away.clamp_min(1).double() / exact).log() / math.log(max_distance / exact)
    far = (exact + (ratio * (num_buckets - exact)).long()).clamp_max(num_buckets - 1)
    return offset + torch.where(away < exact, away, far)


class _Local(General):
    """The general score within |s - p_t| <= D; source positions s count from 0."""

    fusible = False  # the window moves from query to query; storing the few weights is quicker
    kernels = ("auto", "explicit")
    refusal = "its window moves from query to query"

    def __init__(self, query_size: int, key_size: int, window: int = 10) -> None:
        super().__init__(query_size, key_size)
        self.window = check_size("window", window, window)

    def centres(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        """p_t, the middle of each query's window: (B or 1, T)."""
        raise NotImplementedError

    def visible(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        near = self.offsets(query, memory, state).abs() <= self.window
        return near if memory.mask is None else near & memory.mask[:, None, None, :]

    def offsets(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        """s - p_t: (B or 1, 1, T, S)."""
        positions = torch.arange(memory.keys.shape[2], device=query.device)
        return (positions - self.centres(query, memory, state).unsqueeze(2)).unsqueeze(1)


@register("local_m")
class LocalM(_Local):
    """softmax(q_t^T W k_s) within a window around p_t = t: Luong et al. 2015, 3.2, local-m.

    a_t(s) = softmax of q_t^T W k_s over |s - t| <= D, positions counted from 0. The window leaves out what
    lies outside the sentence; if nothing is inside, the weights are zero.

    Args:
        query_size: width of a query.
        key_size: width of a source state.
        window: D.
    """

    positioned = True

    def centres(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        return self.query_positions(query.shape[1], memory, state)


@register("local_p")
class LocalP(_Local):
    """softmax(q_t^T W k_s) within a window around a predicted p_t: Luong et al. 2015, 3.2, local-p.

    Eq. 9 and 10: p_t = S sigmoid(v^T tanh(W_p q_t)), where S is the true length without padding; positions
    count from 0. a_t(s) = softmax of q_t^T W k_s over |s - p_t| <= D, times exp(-(s - p_t)^2 / (2 sigma^2)),
    sigma = D / 2. As printed the Gaussian comes after the softmax, so the weights sum to less than 1.

    Args:
        query_size: width of a query.
        key_size: width of a source state.
        window: D.
        gaussian: ``after`` the softmax, as printed, or ``before`` it: its logarithm is added to the scores,
            and the weights sum to 1.
    """

    def __init__(self, query_size: int, key_size: int, window: int = 10, gaussian: str = "after") -> None:
        super().__init__(query_size, key_size, window)
        if gaussian not in GAUSSIANS:
            raise ValueError(f"gaussian: expected one of {', '.join(GAUSSIANS)}, got {gaussian!r}")
        self.gaussian = gaussian
        self.place_projection = nn.Linear(query_size, query_size, bias=False)
        self.place_direction = nn.Parameter(torch.empty(query_size))
        nn.init.uniform_(self.place_direction, -(query_size**-0.5), query_size**-0.5)

    def centres(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        hidden = torch.tanh(self.place_projection(query))
        share = torch.sigmoid(hidden @ self.place_direction.to(hidden.dtype))  # (B, T)
        return lengths_of(memory.mask, memory.keys).unsqueeze(1) * share

    def align(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        offsets = self.offsets(query, memory, state)
        log_gaussian = -2 * (offsets / self.window).square()  # (s - p)^2 / (2 (D / 2)^2)
        scores, visible = self.scores(query, memory, state), self.visible(query, memory, state)
        if self.gaussian == "before":
            return masked_softmax(scores + log_gaussian, visible)
        return masked_softmax(scores, visible) * log_gaussian.exp()
