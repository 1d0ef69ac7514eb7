"""One optimizer step: forward, loss, backward, finite check, clip, step, average."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from translate.errors import UserError
from translate.models import Seq2Seq
from translate.text.batching import Batch
from translate.training.checkpoint import model_tensors
from translate.training.objective import Loss, cross_entropy
from translate.training.optimizer import Schedule
from translate.training.parallel import Parallel, whole


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
        parallel: of :func:`parallelise`, if several processes train the model.
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
        parallel: Parallel | None = None,
    ) -> None:
        self.model = model
        self.parallel = parallel or Parallel()
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

    def __call__(
        self, batches: Sequence[Batch], step: int, *, num_tokens: int | None = None, spare: bool = False
    ) -> StepReport:
        """Take step number ``step`` (from 1); raises :class:`UserError` if loss or gradient is not finite.

        Args:
            batches: of this process.
            step: the same in all processes.
            num_tokens: target tokens of all processes, by which the loss is divided.
            spare: the last batch counts for nothing.
        """
        num_tokens = num_tokens or sum(batch.num_tokens for batch in batches)
        total = torch.zeros((), device=self.device)
        likelihood = torch.zeros((), device=self.device)
        padded = sources = 0
        self.model.train()
        for number, batch in enumerate(batches, 1):
            last = number == len(batches)
            weight = 0 if spare and last else self.parallel.world.size  # gradients are means over processes
            with self.parallel.exchange(last=last):
                loss = self.parallel.compute(partial(self._loss, batch.to(self.device)))
                (loss.total * weight / num_tokens).backward()
            if weight:
                total += loss.total.detach()
                likelihood += loss.likelihood
                padded += batch.source.numel() + batch.target_in.numel()
                sources += batch.num_source_tokens
        norm = whole(nn.utils.clip_grad_norm_(self.parameters, self.clip_norm or float("inf")))
        finite = torch.isfinite(norm)
        total, likelihood, padded, sources, finite = self._of_all(total, likelihood, padded, sources, finite)
        if not finite:  # a GPU synchronises here
            self.optimizer.zero_grad(set_to_none=True)
            raise UserError(_not_finite(step, total.item() / num_tokens, norm.item(), batches))
        for group, peak in zip(self.optimizer.param_groups, self.peaks, strict=True):
            group["lr"] = peak * self.schedule.factor(step)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        if self.average is not None:
            self.average.update(step)
        rate = self.optimizer.param_groups[0]["lr"]
        return StepReport(step, total, likelihood, num_tokens, sources, padded, norm.detach(), rate)

    def _loss(self, batch: Batch) -> Loss:
        return batch_loss(self.model, batch, self.label_smoothing, self.precision, self.guided)

    def _of_all(
        self, total: Tensor, likelihood: Tensor, padded: int, sources: int, finite: Tensor
    ) -> tuple[Tensor, Tensor, int, int, Tensor]:
        """Sums over all processes; finite is what is so in each of them."""
        if self.parallel.world.size == 1:
            return total, likelihood, padded, sources, finite
        counts = torch.tensor([padded, sources], device=self.device)
        sums = torch.cat([torch.stack([total, likelihood, ~finite]).double(), counts])
        self.parallel.world.add(sums)
        padded, sources = (int(each) for each in sums[3:])
        return sums[0], sums[1], padded, sources, sums[2] == 0

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
