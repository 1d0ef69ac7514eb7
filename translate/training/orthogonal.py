"""The half of Muon that steps matrices: momentum, made nearly orthogonal."""

from collections.abc import Callable, Iterable
from math import sqrt
from typing import Any

import torch
from torch import Tensor

# Of x -> a x + b x^3 + c x^5, which Jordan et al. 2024 chose to grow small singular values fast: it takes all
# of them to between 0.7 and 1.2, not to 1.
A, B, C = 3.4445, -4.7750, 2.0315
RMS = 0.2  # of an update before the learning rate, as AdamW's usually have (Liu et al. 2025, equation 4)
MOST_STEPS = 20  # of the iteration; five are enough
EPS = 1e-7  # keeps the division by the norm of a gradient finite


class Orthogonal(torch.optim.Optimizer):
    """Steps in the direction of the nearest matrix whose singular values are all alike (Jordan et al. 2024).

    Computes as :class:`torch.optim.Muon` does with ``adjust_lr_fn="match_rms_adamw"``. That one's products
    are in bfloat16, 25 times slower on processors without instructions for it; here they are in float32 on a
    CPU.

    Args:
        params: groups of matrices.
        lr: learning rate.
        momentum: decay of the average of the gradient; a step looks ahead by one gradient (Nesterov).
        weight_decay: decoupled, of groups without a value of their own.
        ns_steps: iterations of Newton and Schulz.

    Raises:
        ValueError: for a value out of its range.
    """

    def __init__(
        self,
        params: Iterable[dict[str, Any]],
        lr: float,
        momentum: float,
        weight_decay: float = 0.0,
        ns_steps: int = 5,
    ) -> None:
        for name, value in (("lr", lr), ("weight_decay", weight_decay)):
            if not value >= 0:
                raise ValueError(f"{name}={value}: expected 0 or more")
        if not 0 <= momentum < 1:
            raise ValueError(f"momentum={momentum}: expected at least 0 and less than 1")
        if not 1 <= ns_steps <= MOST_STEPS:
            raise ValueError(f"ns_steps={ns_steps}: expected 1 to {MOST_STEPS}")
        defaults = {"lr": lr, "momentum": momentum, "weight_decay": weight_decay, "ns_steps": ns_steps}
        super().__init__(params, defaults)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Step every matrix that has a gradient."""
        loss = None if closure is None else closure()
        for group in self.param_groups:
            matrices = [each for each in group["params"] if each.grad is not None]
            if not matrices:
                continue
            for matrix in matrices:
                if not self.state[matrix]:
                    self.state[matrix]["momentum_buffer"] = torch.zeros_like(matrix)
            gradients = [matrix.grad for matrix in matrices]
            averages = [self.state[matrix]["momentum_buffer"] for matrix in matrices]
            torch._foreach_lerp_(averages, gradients, 1 - group["momentum"])
            ahead = torch._foreach_lerp(gradients, averages, group["momentum"])
            torch._foreach_mul_(matrices, 1 - group["lr"] * group["weight_decay"])
            for matrix, direction in zip(matrices, ahead, strict=True):
                update = nearly_orthogonal(direction, group["ns_steps"])
                matrix.add_(update, alpha=-group["lr"] * RMS * sqrt(max(matrix.shape)))
        return loss


def nearly_orthogonal(matrix: Tensor, steps: int = 5) -> Tensor:
    """(m, n), with the singular vectors of ``matrix`` (m, n) and singular values near 1.

    By ``steps`` iterations of Newton and Schulz with a polynomial of degree 5 (Jordan et al. 2024), in
    float32, or on a GPU in bfloat16.
    """
    found = matrix.bfloat16() if matrix.is_cuda else matrix.float()
    tall = found.shape[0] > found.shape[1]
    if tall:
        found = found.T
    found = found / found.norm().clamp(min=EPS)
    for _ in range(steps):
        square = found @ found.T
        found = torch.addmm(found, torch.addmm(square, square, square, beta=B, alpha=C), found, beta=A)
    return (found.T if tall else found).to(matrix.dtype)
