"""One optimizer step: forward, backward, clip, step, average."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from translate.corpora.batching import Batch
from translate.errors import UserError
from translate.models import Seq2Seq
from translate.training.losses import LossTerms, batch_loss
from translate.training.parallel import Parallel, whole
from translate.training.weights import MovingAverage, differing_shapes, model_tensors


class StepReport(NamedTuple):
    """The result of one optimizer step; sums are over its target tokens."""

    step: int
    loss: Tensor  # label-smoothed, nats, summed
    likelihood: Tensor  # negative log-likelihood, nats, summed
    num_tokens: int
    gradient_norm: Tensor
    learning_rate: float
    notes: tuple[str, ...] = ()  # for the user


class NotFiniteError(Exception):
    """The loss or the gradient of a step is not finite; the step was not taken, its gradient remains."""

    def __init__(self, report: StepReport) -> None:
        super().__init__(f"step {report.step}: the loss or the gradient is not finite")
        self.report = report


@dataclass
class Update:
    """Takes optimizer steps on a model.

    Attributes:
        model: on its device.
        optimizer: its learning rates are set by the caller, before each step.
        terms: of the loss.
        clip_norm: largest norm of the gradient; ``None`` for no limit.
        average: moving average of the weights, or ``None``.
        precision: of the forward pass; float16 scales the loss.
        parallel: from :func:`parallelise`, if several processes train the model.
    """

    model: Seq2Seq
    optimizer: torch.optim.Optimizer
    terms: LossTerms
    _: KW_ONLY
    clip_norm: float | None = None
    average: MovingAverage | None = None
    precision: torch.dtype = torch.float32
    parallel: Parallel = field(default_factory=Parallel)

    def __post_init__(self) -> None:
        self.parameters = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        self.device = self.parameters[0].device
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=self.precision == torch.float16)
        self.current: Batch | None = None  # in its forward or backward pass

    def __call__(
        self, batches: Sequence[Batch], step: int, *, num_tokens: int | None = None, spare: bool = False
    ) -> StepReport:
        """Take step number ``step`` (from 1).

        Args:
            batches: of this process.
            step: the same in all processes.
            num_tokens: target tokens of all processes, by which the loss is divided.
            spare: the last batch only takes part in the exchanges; its loss does not count.

        Raises:
            NotFiniteError: instead of stepping.
        """
        self.model.train()
        num_tokens = num_tokens or sum(batch.num_tokens for batch in batches)
        loss, likelihood = self._forward_backward(batches, num_tokens, spare=spare)
        self.scaler.unscale_(self.optimizer)
        norm = whole(nn.utils.clip_grad_norm_(self.parameters, self.clip_norm or float("inf")))
        finite = torch.isfinite(norm)
        if self.parallel.world.size > 1:
            totals = self.parallel.world.add(torch.stack([loss, likelihood, ~finite]).double())
            loss, likelihood, finite = totals[0], totals[1], totals[2] == 0
        rate = self.optimizer.param_groups[0]["lr"]
        report = StepReport(step, loss, likelihood, num_tokens, norm.detach(), rate)
        if not finite:  # a GPU synchronises here
            raise NotFiniteError(report)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)
        if self.average is not None:
            self.average.update(step)
        return report

    def _forward_backward(
        self, batches: Sequence[Batch], num_tokens: int, *, spare: bool
    ) -> tuple[Tensor, Tensor]:
        """The loss and the likelihood of the batches of this process, summed."""
        loss_sum = torch.zeros((), device=self.device)
        likelihood = torch.zeros((), device=self.device)
        for number, batch in enumerate(batches, 1):
            self.current = batch
            last = number == len(batches)
            counts = not (spare and last)
            weight = self.parallel.world.size if counts else 0  # processes average their gradients
            with self.parallel.exchange(last=last):
                loss = self.parallel.compute(
                    partial(batch_loss, self.model, batch.to(self.device), self.terms, self.precision)
                )
                self.scaler.scale(loss.total * weight / num_tokens).backward()
            if counts:
                loss_sum += loss.total.detach()
                likelihood += loss.likelihood
        self.current = None
        return loss_sum, likelihood

    def state_dict(self) -> dict[str, Any]:
        """The state that the next step depends on, except data order, schedules and random numbers."""
        return {
            "model": model_tensors(self.model),
            "optimizer": self.optimizer.state_dict(),
            "average": self.average.weights if self.average else None,
            "scaler": self.scaler.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the state of the same model and settings.

        Raises:
            UserError: listing every parameter that differs, if the model is another one.
        """
        own = model_tensors(self.model)
        differing = differing_shapes(own, state["model"])
        if differing:
            raise UserError(f"the model is not that of the checkpoint: {'; '.join(differing)}")
        for name, tensor in own.items():
            tensor.copy_(state["model"][name])
        if self.average is not None:
            for weight, saved in zip(self.average.weights, state["average"], strict=True):
                weight.copy_(saved)
        self.optimizer.load_state_dict(state["optimizer"])
        self.scaler.load_state_dict(state["scaler"])
