"""Learning-rate schedules, and how parameters are grouped for the optimizer."""

import math
from typing import Any

from torch import nn


class Schedule:
    """A factor on the optimizer's learning rate for each step (counted from 1)."""

    def factor(self, step: int) -> float:
        """The factor for optimizer step ``step``."""
        return 1.0

    def enter(self, epoch: int) -> None:
        """Hear the epoch (from 0) of the next step."""

    def observe(self, *, improved: bool) -> None:
        """Hear whether a validation improved on the best one."""

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what :meth:`state_dict` gave."""


def _check_warmup(warmup: int) -> None:
    if warmup < 0:
        raise ValueError(f"warmup: expected at least 0 steps, got {warmup}")


def _check_total(total: int, warmup: int) -> None:
    _check_warmup(warmup)
    if total <= warmup:
        raise ValueError(f"total: expected more steps than warmup={warmup}, got {total}")


def _risen(step: int, warmup: int) -> float:
    """Linear warm-up: from 1 / warmup at the first step to 1."""
    return min(1.0, step / warmup) if warmup else 1.0


class Constant(Schedule):
    """The same rate throughout, after a linear warm-up.

    Args:
        warmup: steps.
    """

    def __init__(self, warmup: int = 0) -> None:
        _check_warmup(warmup)
        self.warmup = warmup

    def factor(self, step: int) -> float:
        return _risen(step, self.warmup)


class InverseSquareRoot(Schedule):
    """Linear warm-up, then falling with the square root of the step: Vaswani et al. 2017, eq. 3.

    The optimizer's rate is the peak, reached at step ``warmup``.

    Args:
        warmup: steps.
    """

    def __init__(self, warmup: int = 4000) -> None:
        if warmup < 1:
            raise ValueError(f"warmup: expected at least 1 step, got {warmup}")
        self.warmup = warmup

    def factor(self, step: int) -> float:
        return min(step / self.warmup, (self.warmup / step) ** 0.5)


class Plateau(Schedule):
    """Cut the rate by ``decay`` when ``patience`` validations in a row bring nothing better.

    Args:
        decay: factor at each cut.
        patience: validations.
        warmup: steps of linear warm-up.
        minimum: smallest factor.
    """

    def __init__(self, decay: float = 0.5, patience: int = 2, warmup: int = 0, minimum: float = 0.01) -> None:
        if not 0.0 < decay < 1.0:
            raise ValueError(f"decay: expected a factor between 0 and 1, got {decay}")
        if patience < 1:
            raise ValueError(f"patience: expected at least 1 validation, got {patience}")
        _check_warmup(warmup)
        self.decay, self.patience, self.warmup, self.minimum = decay, patience, warmup, minimum
        self.scale = 1.0
        self.waited = 0

    def factor(self, step: int) -> float:
        return self.scale * _risen(step, self.warmup)

    def observe(self, *, improved: bool) -> None:
        self.waited = 0 if improved else self.waited + 1
        if self.waited >= self.patience:
            self.scale = max(self.minimum, self.scale * self.decay)
            self.waited = 0

    def state_dict(self) -> dict[str, Any]:
        return {"scale": self.scale, "waited": self.waited}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.scale, self.waited = state["scale"], state["waited"]


class _Falling(Schedule):
    """Linear warm-up, then from 1 to ``minimum`` at step ``total``.

    Args:
        total: steps of the whole run.
        warmup: steps.
        minimum: factor at the end.
    """

    def __init__(self, total: int, warmup: int = 0, minimum: float = 0.0) -> None:
        _check_total(total, warmup)
        self.total, self.warmup, self.minimum = total, warmup, minimum

    def height(self, left: float) -> float:
        """What is left of the fall, 1 to 0, when a share ``left`` of its steps is left."""
        raise NotImplementedError

    def factor(self, step: int) -> float:
        if step <= self.warmup:
            return step / self.warmup
        left = max(0.0, (self.total - step) / (self.total - self.warmup))
        return self.minimum + (1 - self.minimum) * self.height(left)


class Linear(_Falling):
    """Linear warm-up, then linear fall to ``minimum`` at step ``total``; arguments as :class:`Cosine`."""

    def height(self, left: float) -> float:
        return left


class Cosine(_Falling):
    """Linear warm-up, then half a cosine down to ``minimum`` at step ``total``: Loshchilov and Hutter 2017.

    Args:
        total: steps of the whole run.
        warmup: steps.
        minimum: factor at the end.
    """

    def height(self, left: float) -> float:
        return 0.5 * (1 - math.cos(math.pi * left))


class Halving(Schedule):
    """The same rate for some epochs, then cut after each epoch: Luong et al. 2015, 4.1.

    Args:
        epochs: at the full rate; 5 in the paper, 8 with dropout.
        decay: factor at each cut.
        warmup: steps of linear warm-up; none in the paper.
    """

    def __init__(self, epochs: int = 5, decay: float = 0.5, warmup: int = 0) -> None:
        if epochs < 0:
            raise ValueError(f"epochs: expected at least 0, got {epochs}")
        if not 0.0 < decay < 1.0:
            raise ValueError(f"decay: expected a factor between 0 and 1, got {decay}")
        _check_warmup(warmup)
        self.epochs, self.decay, self.warmup = epochs, decay, warmup
        self.epoch = 0

    def enter(self, epoch: int) -> None:
        self.epoch = epoch

    def factor(self, step: int) -> float:
        return self.decay ** max(0, self.epoch - self.epochs + 1) * _risen(step, self.warmup)


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Matrices decay; vectors (biases, norms, score directions) and embeddings do not."""
    embeddings = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    decayed: list[nn.Parameter] = []
    kept: list[nn.Parameter] = []
    for parameter in model.parameters():
        if parameter.requires_grad:
            (decayed if parameter.dim() > 1 and id(parameter) not in embeddings else kept).append(parameter)
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": kept, "weight_decay": 0.0}]
    return [group for group in groups if group["params"]]
