"""Multi-head attention in which distance counts: a window, or a bias that falls with distance.

Within a sequence the last query stands at the last key. To a source, query t stands at source place t;
the state of a hypothesis is that place.

Shapes: H heads, E width of a head.
"""

import math
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from translate.attention.kernels import KERNELS
from translate.attention.masks import Pattern
from translate.attention.mechanisms import check_size
from translate.attention.memory import Memory
from translate.attention.multi_head import MultiHead
from translate.attention.path_cache import LayerCache


class SlidingWindow(MultiHead):
    """Multi-head attention to the keys at most ``window`` places away: Beltagy et al. 2020, 3.1.

    a(i, j) = softmax over j of q_i^T k_j / sqrt(E), where |i - j| <= window; with ``causal`` 0 <= i - j. A
    target place that is further than ``window`` after the end of a source sees nothing of it.

    Args:
        query_size: width of a query.
        key_size: width of a source state.
        window: most places between a query and a key that it sees.
        num_heads, attention_size, causal, bias, kernel, num_key_value_heads, dropout: as :class:`MultiHead`.
    """

    positioned = True

    def __init__(
        self,
        query_size: int,
        key_size: int,
        window: int = 32,
        num_heads: int | None = None,
        attention_size: int | None = None,
        causal: bool = False,
        bias: bool = True,
        kernel: str = "auto",
        num_key_value_heads: int | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(
            query_size,
            key_size,
            num_heads,
            attention_size,
            causal,
            bias,
            kernel,
            num_key_value_heads,
            dropout,
        )
        self.window = check_size("window", window, window)

    def pattern(self, num_queries: int, memory: Memory, state: Any = None) -> Pattern:
        places = None if state is None else self.places(num_queries, memory, state)
        return replace(super().pattern(num_queries, memory), window=self.window, places=places)

    def own_pattern(self, num_queries: int, memory: Memory) -> Pattern:
        return replace(super().own_pattern(num_queries, memory), window=self.window)

    def step_self(
        self, states: Tensor, cache: Tensor | LayerCache, place: int | Tensor, turn: Any = None
    ) -> tuple[Tensor, Tensor | LayerCache]:
        if isinstance(cache, Tensor):
            # What the next place cannot see is forgotten: the cache has a constant size.
            cache = cache[:, :, :, -self.window :]
        return super().step_self(states, cache, place, turn)


class _Biased(MultiHead):
    """Multi-head attention whose scores get a bias by distance."""

    positioned = True
    kernels = tuple(name for name in KERNELS if name != "varlen")
    refusal = "the kernel over packed tokens takes no bias"

    def distance_bias(self, distances: Tensor) -> Tensor:
        """What is added to the scores at ``distances``, key's place - query's: any shape -> (H, shape)."""
        raise NotImplementedError

    def pattern(self, num_queries: int, memory: Memory, state: Any = None) -> Pattern:
        places = None if state is None else self.places(num_queries, memory, state)
        return replace(super().pattern(num_queries, memory), bias=self.distance_bias, places=places)

    def own_pattern(self, num_queries: int, memory: Memory) -> Pattern:
        return replace(super().own_pattern(num_queries, memory), bias=self.distance_bias)


class ALiBi(_Biased):
    """softmax(q_i^T k_j / sqrt(E) - m_h |i - j|) v: Press et al. 2022, 3.

    The slopes of H heads are m_h = 2^(-8 h / H), h = 1 .. H; where H is no power of two, those of the power
    below, and then every other one of the power above, as in the authors' code. The paper is causal; without
    ``causal`` the bias falls with distance on both sides.

    Args:
        query_size: width of a query.
        key_size: width of a source state.
        num_heads, attention_size, causal, bias, kernel, num_key_value_heads, dropout: as :class:`MultiHead`.
    """

    slopes: Tensor

    def __init__(
        self,
        query_size: int,
        key_size: int,
        num_heads: int | None = None,
        attention_size: int | None = None,
        causal: bool = False,
        bias: bool = True,
        kernel: str = "auto",
        num_key_value_heads: int | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(
            query_size,
            key_size,
            num_heads,
            attention_size,
            causal,
            bias,
            kernel,
            num_key_value_heads,
            dropout,
        )
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


class RelativeBias(_Biased):
    """softmax(q_i^T k_j / sqrt(E) + b_h[bucket(j - i)]) v: Raffel et al. 2020, 2.1.

    Small distances have a bucket each, greater ones share buckets whose width grows as the logarithm, and all
    from ``max_distance`` on share the last. Deviations: T5 leaves out 1 / sqrt(E) and shares b among layers.

    Args:
        query_size: width of a query.
        key_size: width of a source state.
        num_buckets: of distances; half of them for keys after the query unless ``causal``.
        max_distance: where the last bucket begins.
        num_heads, attention_size, causal, bias, kernel, num_key_value_heads, dropout: as :class:`MultiHead`.
    """

    def __init__(
        self,
        query_size: int,
        key_size: int,
        num_buckets: int = 32,
        max_distance: int = 128,
        num_heads: int | None = None,
        attention_size: int | None = None,
        causal: bool = False,
        bias: bool = True,
        kernel: str = "auto",
        num_key_value_heads: int | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(
            query_size,
            key_size,
            num_heads,
            attention_size,
            causal,
            bias,
            kernel,
            num_key_value_heads,
            dropout,
        )
        self.num_buckets = check_size("num_buckets", num_buckets, num_buckets, least=4)
        self.max_distance = check_size("max_distance", max_distance, max_distance, least=num_buckets)
        self.distance_weight = nn.Parameter(torch.zeros(num_buckets, self.num_heads))

    def distance_bias(self, distances: Tensor) -> Tensor:
        buckets = distance_buckets(distances, self.num_buckets, self.max_distance, causal=self.causal)
        return self.distance_weight[buckets].movedim(-1, 0)


def distance_buckets(distances: Tensor, num_buckets: int, max_distance: int, *, causal: bool) -> Tensor:
    """The bucket of each distance (key's place - query's), any shape int64: Raffel et al. 2020, 2.1."""
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
