"""One optimizer step: forward, loss, backward, finite check, clip, step, average."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from translate.errors import UserError
from translate.models import Seq2Seq
from translate.text.batching import Batch
from translate.training.checkpoint import model_tensors
from translate.training.objective import Loss, cross_entropy
from translate.training.optimizer import Schedule


class Averaged:
    """An exponential moving average of a model's weights (Polyak and Juditsky 1992).

    The decay grows from 0 to ``decay`` as ``(1 + step) / (10 + step)``, so that early averages follow.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.parameters = list(model.parameters())
        self.weights = [parameter.detach().clone() for parameter in self.parameters]

    def update(self, step: int) -> None:
        """Move towards the weights after step number ``step``."""
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
        guided: weight and layer of the guided-alignment loss, or ``None``.
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
        guided: "Guided | None" = None,
    ) -> None:
        self.model = model
        self.optimizer = optimizer
        self.schedule = schedule
        self.label_smoothing = label_smoothing
        self.clip_norm = clip_norm
        self.average = average
        self.guided = guided
        self.precision = precision
        self.peaks = [group["lr"] for group in optimizer.param_groups]
        self.parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.device = self.parameters[0].device

    def __call__(self, batches: Sequence[Batch], step: int) -> StepReport:
        """Take step number ``step`` (from 1); raises :class:`UserError` if loss or gradient is not finite."""
        num_tokens = sum(batch.num_tokens for batch in batches)
        total = torch.zeros((), device=self.device)
        likelihood = torch.zeros((), device=self.device)
        padded = 0
        self.model.train()
        for batch in batches:
            loss = batch_loss(
                self.model, batch.to(self.device), self.label_smoothing, self.precision, self.guided
            )
            (loss.total / num_tokens).backward()
            total += loss.total.detach()
            likelihood += loss.likelihood
            padded += batch.source.numel() + batch.target_in.numel()
        norm = nn.utils.clip_grad_norm_(self.parameters, self.clip_norm or float("inf"))
        if not torch.isfinite(norm):  # a GPU synchronises here
            self.optimizer.zero_grad(set_to_none=True)
            raise UserError(_not_finite(step, total.item() / num_tokens, norm.item(), batches))
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
            "model": model_tensors(self.model),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "average": self.average.weights if self.average else None,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what :meth:`state_dict` gave, of the same model and settings."""
        for name, tensor in model_tensors(self.model).items():
            tensor.copy_(state["model"][name])
        if self.average is not None:
            for weight, saved in zip(self.average.weights, state["average"], strict=True):
                weight.copy_(saved)
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])


def _not_finite(step: int, loss: float, norm: float, batches: Sequence[Batch]) -> str:
    pairs = [index + 1 for batch in batches for index in batch.indices]  # as an editor counts lines
    shown = ", ".join(map(str, pairs[:8]))
    more = f" and {len(pairs) - 8} more" if len(pairs) > 8 else ""
    return (
        f"step {step}: loss {loss:.4g} and gradient norm {norm:.4g} are not both finite, so the step was not "
        f"taken (training pairs {shown}{more}, counted after filtering); lower optimizer.lr"
    )


class Guided(NamedTuple):
    """Draws one head's attention to known links: Garg et al. 2019, 4.2."""

    weight: float  # of the loss
    layer: int  # of the attention; its first head is guided


def batch_loss(
    model: Seq2Seq,
    batch: Batch,
    label_smoothing: float,
    precision: torch.dtype,
    guided: Guided | None = None,
) -> Loss:
    """The summed loss of a batch on the model's device; padding does not count."""
    with torch.autocast(batch.source.device.type, dtype=precision, enabled=precision != torch.float32):
        given = batch.source, batch.source_mask, batch.target_in
        if guided is None or batch.guide is None:
            hidden, guiding = model(*given), None
        else:
            hidden, weights = model.forward_with_weights(*given, guided.layer)
            guiding = guided.weight * guided_loss(weights[:, 0], batch.guide)
        if batch.target_mask is None:
            states, targets = hidden.flatten(0, 1), batch.target_out.flatten()
        else:
            states, targets = hidden[batch.target_mask], batch.target_out[batch.target_mask]
        loss = cross_entropy(
            states, model.output_weight, model.output_bias, targets, label_smoothing=label_smoothing
        )
        return loss if guiding is None else loss._replace(total=loss.total + guiding)


def guided_loss(weights: Tensor, guide: Tensor) -> Tensor:
    """-sum G log A over the rows that have links: Garg et al. 2019, eq. 5, summed instead of averaged.

    Args:
        weights: A, (B, T, S) attention of one head.
        guide: G, (B, T, S) rows that sum to 1, or to 0 where nothing is known.
    """
    return -(guide * weights.float().clamp(min=1e-9).log()).sum()
