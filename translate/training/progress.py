"""The counters of a run, its limits, and the sums between two lines of the metrics."""

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor

from translate.config.training import TrainingConfig

MAX_TIME = "max_time"


class StepReport(NamedTuple):
    """What one optimizer step did; sums are over its target tokens."""

    step: int
    loss: Tensor  # label-smoothed, nats, summed
    likelihood: Tensor  # negative log-likelihood, nats, summed
    num_tokens: int
    num_source_tokens: int
    padded_tokens: int  # of both sides, padding included
    gradient_norm: Tensor
    learning_rate: float
    notes: tuple[str, ...] = ()  # for the user


@dataclass
class Progress:
    """The counters of a run; a checkpoint stores them."""

    step: int = 0  # optimizer steps
    epoch: int = 0
    batch: int = 0  # batches of this block that are done
    block: int = 0  # of this epoch
    tokens: int = 0  # target tokens, padding excluded
    source_tokens: int = 0
    padded_tokens: int = 0  # of both sides, padding included
    seconds: float = 0.0  # of training and validation, over all processes that worked on the run in turn
    validation_seconds: float = 0.0  # the part of them spent in validation
    best: float | None = None  # value of training.best_metric; larger is better
    best_step: int = 0
    best_steps: list[int] = field(default_factory=list)  # the training.keep_best best steps, best first
    best_values: list[float] = field(default_factory=list)  # their values of the metric
    best_likelihoods: list[float] = field(default_factory=list)  # theirs, nats a token; larger is better
    waited: int = 0  # validations since the best one
    finished: str | None = None  # why the run ended, if it did

    @property
    def training_seconds(self) -> float:
        return self.seconds - self.validation_seconds

    def add(self, report: StepReport) -> None:
        """Count a step."""
        self.step = report.step
        self.tokens += report.num_tokens
        self.source_tokens += report.num_source_tokens
        self.padded_tokens += report.padded_tokens

    def beats_best(self, value: float, likelihood: float) -> bool:
        """Whether a validation is better than the best so far; if equal, the likelihood decides."""
        return not self.best_values or (value, likelihood) > (self.best_values[0], self.best_likelihoods[0])

    def rank(self, value: float, likelihood: float, *, keep: int) -> bool:
        """Rank the validation of this step among the ``keep`` best; returns whether it is the best."""
        improved = self.beats_best(value, likelihood)
        if improved:
            self.best, self.best_step = value, self.step
        ranked = [*zip(self.best_values, self.best_likelihoods, self.best_steps, strict=True)]
        ranked = [entry for entry in ranked if entry[2] != self.step]  # validated before an interruption
        ranked.append((value, likelihood, self.step))
        ranked.sort(key=lambda entry: entry[:2], reverse=True)  # stable: of equals the earlier one is better
        kept = ranked[:keep]
        self.best_values, self.best_likelihoods = [entry[0] for entry in kept], [entry[1] for entry in kept]
        self.best_steps = [entry[2] for entry in kept]
        return improved

    def state_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> "Progress":
        """The counters that a checkpoint stores."""
        return cls(**state)


class Limits:
    """Ends a run after a number of steps, of epochs, or of seconds of this process."""

    def __init__(self, config: TrainingConfig, *, began: float) -> None:
        self.config = config
        self.began = began

    def reached(self, progress: Progress) -> str | None:
        """The limit that the run has reached."""
        config = self.config
        if config.max_steps is not None and progress.step >= config.max_steps:
            return "max_steps"
        if config.max_epochs is not None and progress.epoch >= config.max_epochs:
            return "max_epochs"
        if config.max_time is not None and time.monotonic() - self.began >= config.max_time:
            return MAX_TIME
        return None


@dataclass
class Window:
    """Sums over the steps since the last line of the metrics.

    A checkpoint stores them, so a resumed run logs the same values.

    Attributes:
        began: seconds of training before the window, validation excluded.
        loss: label-smoothed, summed; stays on the device until it is read.
        likelihood: negative log-likelihood, summed.
        tokens: of the target.
        source_tokens: of the source.
        padded_tokens: of both sides, padding included.
    """

    began: float = 0.0
    loss: Tensor | float = 0.0
    likelihood: Tensor | float = 0.0
    tokens: int = 0
    source_tokens: int = 0
    padded_tokens: int = 0

    def restart(self, training_seconds: float) -> None:
        """Empty the window; the next step is its first."""
        self.began = training_seconds
        self.loss = self.likelihood = 0.0
        self.tokens = self.source_tokens = self.padded_tokens = 0

    def add(self, report: StepReport) -> None:
        """Count a step."""
        device = report.loss.device  # sums from a checkpoint are on the CPU
        self.loss = _on(self.loss, device) + report.loss
        self.likelihood = _on(self.likelihood, device) + report.likelihood
        self.tokens += report.num_tokens
        self.source_tokens += report.num_source_tokens
        self.padded_tokens += report.padded_tokens

    def means(self, training_seconds: float) -> dict[str, float]:
        """Loss (label-smoothed) and likelihood in nats a target token, speed, and the share of padding."""
        tokens = max(1, self.tokens)  # none if all steps were skipped
        return {
            "loss": float(self.loss) / tokens,
            "nll": float(self.likelihood) / tokens,
            "tokens_per_second": self.tokens / max(1e-9, training_seconds - self.began),
            "padding": 1 - (self.tokens + self.source_tokens) / max(1, self.padded_tokens),
        }

    def state_dict(self) -> dict[str, Any]:
        return dict(vars(self))

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> "Window":
        """The sums that a checkpoint stores."""
        return cls(**state)


def _on(value: Tensor | float, device: torch.device) -> Tensor | float:
    return value.to(device) if isinstance(value, Tensor) else value
