"""Sums over the steps between two lines of the metrics."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from translate.training.update import StepReport


@dataclass
class Window:
    """What the steps since the last line gave; a checkpoint holds it, so that a resumed run logs the same.

    Attributes:
        began: seconds of training before it, those of validation not counted.
        loss: label-smoothed, summed; stays on the device until it is read.
        likelihood: negative log-likelihood, summed.
        tokens: of the target.
        source_tokens: of the source.
        places: of both sides, padding included.
    """

    began: float = 0.0
    loss: Tensor | float = 0.0
    likelihood: Tensor | float = 0.0
    tokens: int = 0
    source_tokens: int = 0
    places: int = 0

    def restart(self, training_seconds: float) -> None:
        """Begin anew with the next step."""
        self.began = training_seconds
        self.loss = self.likelihood = 0.0
        self.tokens = self.source_tokens = self.places = 0

    def add(self, report: StepReport) -> None:
        """Count a step."""
        device = report.loss.device  # of a checkpoint it comes from the CPU
        self.loss = _on(self.loss, device) + report.loss
        self.likelihood = _on(self.likelihood, device) + report.likelihood
        self.tokens += report.num_tokens
        self.source_tokens += report.num_source_tokens
        self.places += report.padded_tokens

    def means(self, training_seconds: float) -> dict[str, float]:
        """Loss (label-smoothed) and likelihood in nats a target token, speed, and the share of padding."""
        tokens = max(1, self.tokens)  # none if all steps were left out
        return {
            "loss": float(self.loss) / tokens,
            "nll": float(self.likelihood) / tokens,
            "tokens_per_second": self.tokens / max(1e-9, training_seconds - self.began),
            "padding": 1 - (self.tokens + self.source_tokens) / max(1, self.places),
        }

    def state_dict(self) -> dict[str, Any]:
        return dict(vars(self))


def _on(value: Tensor | float, device: torch.device) -> Tensor | float:
    return value.to(device) if isinstance(value, Tensor) else value
