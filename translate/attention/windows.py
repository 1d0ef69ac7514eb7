"""Luong's local attention: a window of the source around a place that is given or predicted.

Shapes: B batch, S source, T target.
"""

from typing import Any

import torch
from torch import Tensor, nn

from translate.attention.functional import masked_softmax
from translate.attention.masks import lengths_of
from translate.attention.mechanisms import General, check_size
from translate.attention.memory import Memory

GAUSSIANS = ("after", "before")


class _Local(General):
    """The general score within |s - p_t| <= D; the source places s count from 0."""

    fusible = False  # the window moves from query to query; its few keys are quicker written down
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
        places = torch.arange(memory.keys.shape[2], device=query.device)
        return (places - self.centres(query, memory, state).unsqueeze(2)).unsqueeze(1)


class LocalM(_Local):
    """Monotonic local attention: the window is around p_t = t. Luong et al. 2015, 3.2, local-m.

    a_t(s) = softmax of q_t^T W k_s over |s - t| <= D, places counted from 0. Words of the window outside the
    sentence are left out; where none is inside, the weights are zero.

    Args:
        query_size: width of a query.
        key_size: width of a source state.
        window: D.
    """

    positioned = True

    def centres(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        return self.places(query.shape[1], memory, state)


class LocalP(_Local):
    """Predictive local attention: Luong et al. 2015, 3.2, local-p, eq. 9 and 10.

    p_t = S sigmoid(v^T tanh(W_p q_t)), where S is the true length without padding; places count from 0.
    a_t(s) = softmax of q_t^T W k_s over |s - p_t| <= D, times exp(-(s - p_t)^2 / (2 sigma^2)), sigma = D / 2.
    As printed the Gaussian comes after the softmax, so the weights sum to less than 1.

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
