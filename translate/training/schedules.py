"""Schedules: the learning rate and, for recurrent models, teacher forcing over the steps of a run."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from translate.config.declare import Count, Fraction, OpenFraction, Positive
from translate.config.files import YAML, from_file
from translate.config.training import TeacherForcingConfig
from translate.training.stream import Position

LONGEST_WARMUP = 0.1  # share of a run whose number of steps is not known


class Schedule:
    """A factor on the optimizer's peak learning rate for every step, counted from 1."""

    def factor(self, step: int) -> float:
        """The factor for optimizer step ``step``."""
        return 1.0

    def enter(self, epoch: int, spent: float) -> None:
        """Receive the epoch, counted from 0, of the next step, and the share of the run behind it, 0 to 1."""

    def observe(self, *, improved: bool) -> None:
        """Receive whether a validation improved on the best one."""

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what :meth:`state_dict` gave."""


def _risen(step: int, warmup: int) -> float:
    """Linear warm-up: from 1 / warmup at the first step to 1."""
    return min(1.0, step / warmup) if warmup else 1.0


class Constant(Schedule):
    """A constant rate after a linear warm-up.

    Args:
        warmup: steps.
    """

    @from_file("schedule/constant.yaml")
    def __init__(self, warmup: Count = YAML) -> None:
        self.warmup = warmup

    def factor(self, step: int) -> float:
        return _risen(step, self.warmup)


class InverseSquareRoot(Schedule):
    """Linear warm-up, then decay with the inverse square root of the step: Vaswani et al. 2017, eq. 3.

    The peak is reached at step ``warmup``.

    Args:
        warmup: steps.
    """

    @from_file("schedule/inverse_square_root.yaml")
    def __init__(self, warmup: Positive = YAML) -> None:
        self.warmup = warmup

    def factor(self, step: int) -> float:
        return min(step / self.warmup, (self.warmup / step) ** 0.5)


class Plateau(Schedule):
    """Multiply the rate by ``decay`` after ``patience`` validations in a row without an improvement.

    Args:
        decay: factor at each cut.
        patience: validations.
        warmup: steps of linear warm-up.
        minimum: smallest factor.
    """

    @from_file("schedule/plateau.yaml")
    def __init__(
        self,
        decay: OpenFraction = YAML,
        patience: Positive = YAML,
        warmup: Count = YAML,
        minimum: Fraction = YAML,
    ) -> None:
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


class _Decaying(Schedule):
    """Linear warm-up, then a decay from 1 to ``minimum`` at step ``total``, or at the end of the run.

    Args:
        total: steps of the whole run; ``None`` for what limits it, steps, epochs or time.
        warmup: steps.
        minimum: factor at the end.
    """

    @from_file("schedule/linear.yaml")
    def __init__(self, total: int | None, warmup: Count = YAML, minimum: Fraction = YAML) -> None:
        if total is not None and total <= warmup:
            raise ValueError(
                f"warmup: expected fewer steps than the run has, training.max_steps={total}, got {warmup}; "
                "raise that, or lower this in a new run"
            )
        self.total, self.warmup, self.minimum = total, warmup, minimum
        self.spent = 0.0

    def enter(self, epoch: int, spent: float) -> None:
        self.spent = spent

    def height(self, left: float) -> float:
        """The height, from 1 to 0, at which a share ``left`` of the steps after the warm-up remains."""
        raise NotImplementedError

    def factor(self, step: int) -> float:
        risen = _risen(step, self.warmup)
        if self.total is None:
            left = 1 - self.spent
            risen = max(risen, min(1.0, self.spent / LONGEST_WARMUP))
        else:
            left = min(1.0, (self.total - step) / max(1, self.total - self.warmup))
        return risen * (self.minimum + (1 - self.minimum) * self.height(max(0.0, left)))


class Linear(_Decaying):
    """Linear warm-up, then linear decay to ``minimum`` at step ``total``; arguments as of :class:`Cosine`."""

    def height(self, left: float) -> float:
        return left


class Cosine(_Decaying):
    """Linear warm-up, then half a cosine down to ``minimum`` at step ``total``: Loshchilov and Hutter 2017.

    Args:
        total: steps of the whole run; ``None`` for what limits it, steps, epochs or time.
        warmup: steps.
        minimum: factor at the end.
    """

    def height(self, left: float) -> float:
        return 0.5 * (1 - math.cos(math.pi * left))


class Halving(Schedule):
    """A constant rate for some epochs, then a cut after each epoch: Luong et al. 2015, 4.1.

    Args:
        epochs: at the full rate; 5 in the paper, 8 with dropout.
        decay: factor at each cut.
        warmup: steps of linear warm-up; none in the paper.
    """

    @from_file("schedule/halving.yaml")
    def __init__(self, epochs: Count = YAML, decay: OpenFraction = YAML, warmup: Count = YAML) -> None:
        self.epochs, self.decay, self.warmup = epochs, decay, warmup
        self.epoch = 0

    def enter(self, epoch: int, spent: float) -> None:
        self.epoch = epoch

    def factor(self, step: int) -> float:
        return self.decay ** max(0, self.epoch - self.epochs + 1) * _risen(step, self.warmup)


def teacher_forcing_probability(config: TeacherForcingConfig, step: int) -> float:
    """The probability of teacher forcing at optimizer step ``step``: Bengio et al. 2015, 2.4.

    linear: max(minimum, 1 - (1 - minimum) step / steps); exponential: k^step; inverse sigmoid:
    k / (k + exp(step / k)), which begins at k / (k + 1). In the paper the last two have no minimum.
    """
    if config.decay == "linear":
        assert config.steps is not None
        return max(config.minimum, 1.0 - (1.0 - config.minimum) * step / config.steps)
    assert config.k is not None
    if config.decay == "exponential":
        return max(config.minimum, config.k**step)
    past = min(step / config.k, 700.0)  # exp overflows beyond
    return max(config.minimum, config.k / (config.k + math.exp(past)))


class Schedules:
    """Applies every schedule of a run before each step.

    Args:
        optimizer: its learning rates when this is built are the peaks.
        rate: factor on the learning rates.
        model: whose teacher forcing is scheduled.
        teacher_forcing: ``None`` leaves the model's own probability alone.
        spent: the share of the run that is behind it in a step after a position, the same in all processes.
    """

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        rate: Schedule,
        model: nn.Module | None = None,
        teacher_forcing: TeacherForcingConfig | None = None,
        spent: Callable[[int, Position], float] = lambda step, at: 0.0,
    ) -> None:
        self.optimizer = optimizer
        self.rate = rate
        self.model = model
        self.teacher_forcing = teacher_forcing
        self.spent = spent
        self.peaks = [group["lr"] for group in optimizer.param_groups]

    def begin_step(self, step: int, at: Position) -> None:
        """Set learning rates and teacher forcing for step ``step`` (from 1), which begins at a position."""
        self.rate.enter(at.epoch, self.spent(step, at))
        for group, peak in zip(self.optimizer.param_groups, self.peaks, strict=True):
            group["lr"] = peak * self.rate.factor(step)
        if self.teacher_forcing is not None:
            probability = teacher_forcing_probability(self.teacher_forcing, step)
            setattr(self.model, "teacher_forcing", probability)  # noqa: B010 (only recurrent models have it)

    def validated(self, *, improved: bool) -> None:
        """Tell the learning-rate schedule whether a validation improved on the best one."""
        self.rate.observe(improved=improved)
