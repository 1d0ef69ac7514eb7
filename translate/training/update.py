"""One optimizer step: forward, loss, backward, finite check, clip, step, average."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from translate.errors import UserError
from translate.models import Seq2Seq
from translate.text.batching import Batch
from translate.training.objective import Loss, cross_entropy
from translate.training.optimizer import Schedule


class Averaged:
    """An exponential moving average of a model's weights (Polyak and Juditsky 1992).

    The decay grows from 0 to ``decay`` as ``(1 + step) / (10 + step)``, so that early averages follow.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        if not 0.0 < decay < 1.0:
            raise UserError(f"training.ema: expected a decay between 0 and 1, got {decay}")
        self.decay = decay
        self.parameters = list(model.parameters())
        self.weights = [parameter.detach().clone() for parameter in self.parameters]

    def update(self, step: int) -> None:
        decay = min(self.decay, (1 + step) / (10 + step))
        torch._foreach_lerp_(self.weights, [p.detach() for p in self.parameters], 1 - decay)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """The model carries the average inside this context."""
        raw = [parameter.detach().clone() for parameter in self.parameters]
        self._write(self.weights)
        try:
            yield
        finally:
            self._write(raw)

    def _write(self, weights: Sequence[Tensor]) -> None:
        with torch.no_grad():
            for parameter, weight in zip(self.parameters, weights, strict=True):
                parameter.copy_(weight)


class StepReport(NamedTuple):
    """What one optimizer step did; sums are over its target tokens."""

    step: int
    loss: Tensor  # label-smoothed, nats, summed
    likelihood: Tensor  # negative log-likelihood, nats, summed
    num_tokens: int
    num_source_tokens: int
    padded_tokens: int  # places of both sides, padding included
    gradient_norm: Tensor
    learning_rate: float


class Update:
    """Takes optimizer steps on a model.

    Args:
        model: on its device.
        optimizer: of torch; its rate is the schedule's peak.
        schedule: factor for each step.
        label_smoothing: see :func:`cross_entropy`.
        clip_norm: of the gradient, or ``None``.
        average: moving average of the weights, or ``None``.
        precision: what the forward pass computes in.
    """

    def __init__(
        self,
        model: Seq2Seq,
        optimizer: torch.optim.Optimizer,
        schedule: Schedule,
        *,
        label_smoothing: float,
        clip_norm: float | None,
        average: Averaged | None,
        precision: torch.dtype,
    ) -> None:
        self.model = model
        self.optimizer = optimizer
        self.schedule = schedule
        self.label_smoothing = label_smoothing
        self.clip_norm = clip_norm
        self.average = average
        self.precision = precision
        self.peaks = [group["lr"] for group in optimizer.param_groups]
        self.parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]

    def __call__(self, batches: Sequence[Batch], step: int) -> StepReport:
        """Take step number ``step`` (from 1); raises :class:`UserError` if loss or gradient is not finite."""
        device = self.parameters[0].device
        num_tokens = sum(batch.num_tokens for batch in batches)
        total = torch.zeros((), device=device)
        likelihood = torch.zeros((), device=device)
        padded = 0
        self.model.train()
        for batch in batches:
            loss = batch_loss(self.model, batch.to(device), self.label_smoothing, self.precision)
            (loss.total / num_tokens).backward()
            total += loss.total.detach()
            likelihood += loss.likelihood
            padded += batch.source.numel() + batch.target_in.numel()
        norm = nn.utils.clip_grad_norm_(self.parameters, self.clip_norm or float("inf"))
        if not torch.isfinite(norm):  # a GPU synchronises here
            sentences = [index for batch in batches for index in batch.indices]
            raise UserError(
                f"step {step}: loss {total.item() / num_tokens:.4g} and gradient norm {norm.item():.4g} are not "
                f"finite (training pairs {sentences[:8]} and {max(0, len(sentences) - 8)} more); lower optimizer.lr"
            )
        for group, peak in zip(self.optimizer.param_groups, self.peaks, strict=True):
            group["lr"] = peak * self.schedule.factor(step)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        if self.average is not None:
            self.average.update(step)
        rate = self.optimizer.param_groups[0]["lr"]
        sources = sum(batch.num_source_tokens for batch in batches)
        return StepReport(step, total, likelihood, num_tokens, sources, padded, norm.detach(), rate)

    def state_dict(self) -> dict[str, Any]:
        """All that the next step depends on beside data order and random numbers."""
        return {
            "model": {name: parameter.detach() for name, parameter in self.model.named_parameters()},
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "average": self.average.weights if self.average else None,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        with torch.no_grad():
            for name, parameter in self.model.named_parameters():
                parameter.copy_(state["model"][name])
            if self.average and state["average"]:
                for weight, saved in zip(self.average.weights, state["average"], strict=True):
                    weight.copy_(saved)
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])


def batch_loss(model: Seq2Seq, batch: Batch, label_smoothing: float, precision: torch.dtype) -> Loss:
    """The summed loss of a batch on the model's device; padding does not count."""
    with torch.autocast(batch.source.device.type, dtype=precision, enabled=precision != torch.float32):
        hidden = model(batch.source, batch.source_mask, batch.target_in)
        if batch.target_mask is None:
            states, targets = hidden.flatten(0, 1), batch.target_out.flatten()
        else:
            states, targets = hidden[batch.target_mask], batch.target_out[batch.target_mask]
        return cross_entropy(
            states, model.output_weight, model.output_bias, targets, label_smoothing=label_smoothing
        )
