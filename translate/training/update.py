"""One optimizer step: forward, loss, backward, finite check, clip, step, average."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from translate.config.training import TeacherForcingConfig
from translate.corpora.batching import Batch
from translate.errors import UserError
from translate.models import Seq2Seq
from translate.training.averaging import Averaged
from translate.training.losses import Guided, batch_loss
from translate.training.objective import Loss
from translate.training.optimizer import Schedule
from translate.training.parallel import Parallel, whole
from translate.training.safety import (
    blamed,
    describe_not_finite,
    describe_out_of_memory,
    is_out_of_memory,
    parts,
)
from translate.training.teacher_forcing import known_probability
from translate.training.tensors import differing_shapes, model_tensors

MAX_SKIPPED = 10  # steps in a row; then something is wrong with more than a few sentences


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
    notes: tuple[str, ...] = ()  # what the user should know of it


@dataclass(frozen=True)
class Care:
    """What to do with steps that fail.

    Attributes:
        skip_non_finite: leave out a step whose loss or gradient is not finite, instead of ending the run.
        lower_memory: compute batches that do not fit in parts, instead of ending the run.
        text_of: the sentences of a pair by its place in the corpus, for messages.
    """

    skip_non_finite: bool = False
    lower_memory: bool = False
    text_of: Callable[[int], str] | None = None


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
        precision: what the forward pass computes in; float16 scales the loss, and leaves out steps that
            overflow.
        r_drop: weight of the divergence of two dropout passes; 0 for one pass.
        teacher_forcing: schedule of a recurrent model's, or ``None``.
        care: what to do with steps that fail.
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
        guided: Guided | None = None,
        r_drop: float = 0.0,
        teacher_forcing: TeacherForcingConfig | None = None,
        care: Care | None = None,
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
        self.r_drop = r_drop
        self.teacher_forcing = teacher_forcing
        self.care = care or Care()
        self.peaks = [group["lr"] for group in optimizer.param_groups]
        self.parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.device = self.parameters[0].device
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=precision == torch.float16)
        self.part_tokens: int | None = None  # target tokens computed at a time, once memory has run out
        self.skipped = 0  # steps in a row whose loss or gradient was not finite
        self.at_work: Batch | None = None

    def __call__(
        self, batches: Sequence[Batch], step: int, *, num_tokens: int | None = None, spare: bool = False
    ) -> StepReport:
        """Take step number ``step`` (from 1).

        Args:
            batches: of this process.
            step: the same in all processes.
            num_tokens: target tokens of all processes, by which the loss is divided.
            spare: the last batch counts for nothing.

        Raises:
            UserError: if loss or gradient is not finite, or a batch does not fit into the memory, and the
                run does not care for that by itself.
        """
        self.model.train()
        if self.teacher_forcing is not None:
            known = known_probability(self.teacher_forcing, step)
            setattr(self.model, "teacher_forcing", known)  # noqa: B010 (recurrent models alone have it)
        num_tokens = num_tokens or sum(batch.num_tokens for batch in batches)
        notes: tuple[str, ...] = ()
        while True:
            try:
                report = self._step(batches, step, num_tokens, spare=spare)
                return report._replace(notes=notes + report.notes)
            except Exception as error:
                if not is_out_of_memory(error) or self.at_work is None:
                    raise
            notes = (self._lower(step),)  # here nothing holds the tensors of the failed try any more

    def _step(self, batches: Sequence[Batch], step: int, num_tokens: int, *, spare: bool) -> StepReport:
        total = torch.zeros((), device=self.device)
        likelihood = torch.zeros((), device=self.device)
        padded = sources = 0
        for number, batch in enumerate(batches, 1):
            last = number == len(batches)
            weight = 0 if spare and last else self.parallel.world.size  # gradients are means over processes
            for part in parts(batch, self.part_tokens):
                self.at_work = part
                with self.parallel.exchange(last=last):
                    loss = self.parallel.compute(partial(self._loss, part.to(self.device)))
                    self.scaler.scale(loss.total * weight / num_tokens).backward()
                if weight:
                    total += loss.total.detach()
                    likelihood += loss.likelihood
            if weight:
                padded += batch.source.numel() + batch.target_in.numel()
                sources += batch.num_source_tokens
        self.at_work = None  # from here on the step cannot be begun again
        self.scaler.unscale_(self.optimizer)
        norm = whole(nn.utils.clip_grad_norm_(self.parameters, self.clip_norm or float("inf")))
        finite = torch.isfinite(norm)
        total, likelihood, padded, sources, finite = self._of_all(total, likelihood, padded, sources, finite)
        for group, peak in zip(self.optimizer.param_groups, self.peaks, strict=True):
            group["lr"] = peak * self.schedule.factor(step)
        rate = self.optimizer.param_groups[0]["lr"]
        report = StepReport(step, total, likelihood, num_tokens, sources, padded, norm.detach(), rate)
        if not finite:  # a GPU synchronises here
            return self._skip(report, batches)
        self.skipped = 0
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)
        if self.average is not None:
            self.average.update(step)
        return report

    def _loss(self, batch: Batch) -> Loss:
        return batch_loss(
            self.model, batch, self.label_smoothing, self.precision, self.guided, r_drop=self.r_drop
        )

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

    def _skip(self, report: StepReport, batches: Sequence[Batch]) -> StepReport:
        """Leave out a step with numbers that are not finite, or raise :class:`UserError`."""
        nothing = report._replace(
            loss=torch.zeros_like(report.loss),
            likelihood=torch.zeros_like(report.likelihood),
            num_tokens=0,
            num_source_tokens=0,
            padded_tokens=0,
        )
        if self.scaler.is_enabled() and self.scaler.get_scale() > 1 and torch.isfinite(report.loss):
            self.scaler.step(self.optimizer)  # takes no step: it has seen the overflow
            self.scaler.update()
            self.optimizer.zero_grad(set_to_none=True)
            scale = self.scaler.get_scale()
            note = f"step {report.step}: the gradient overflowed float16, the loss is scaled by {scale:g} now"
            return nothing._replace(notes=(note,))
        self.optimizer.zero_grad(set_to_none=True)
        if self.scaler.is_enabled():
            self.scaler.update()
        loss, norm = report.loss.item() / report.num_tokens, report.gradient_norm.item()
        told = describe_not_finite(report.step, loss, norm, self._blamed(batches), self.care.text_of)
        self.skipped += 1
        if not self.care.skip_non_finite:
            raise UserError(f"{told}; lower optimizer.lr, or leave such steps out: training.non_finite=skip")
        if self.skipped == MAX_SKIPPED:
            raise UserError(f"{told}; so were the {MAX_SKIPPED - 1} steps before it; lower optimizer.lr")
        return nothing._replace(notes=(told,))

    def _blamed(self, batches: Sequence[Batch]) -> list[int]:
        """Pairs with a loss that is not finite; of several processes all pairs of the step.

        A single pair's loss is none of the computations that processes exchange anything for.
        """
        if self.parallel.engine is None:
            return blamed(batches, self._loss_alone)
        shares = self.parallel.world.gather([pair for batch in batches for pair in batch.indices])
        return list(dict.fromkeys(pair for share in shares for pair in share))

    def _loss_alone(self, batch: Batch) -> float:
        self.model.eval()
        with torch.no_grad():
            loss = batch_loss(self.model, batch.to(self.device), self.label_smoothing, self.precision)
        self.model.train()
        return float(loss.total)

    def _lower(self, step: int) -> str:
        """After memory ran out: compute half as much at a time, and say so; or raise :class:`UserError`."""
        failed = self.at_work
        assert failed is not None
        self.optimizer.zero_grad(set_to_none=True)
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        places = failed.target_in.numel()
        if not self.care.lower_memory or len(failed.target_in) == 1:
            raise UserError(describe_out_of_memory(step, failed, alone=self.parallel.engine is None))
        self.part_tokens = max(1, places // 2)
        return (
            f"step {step}: out of memory at {places:,} target places; batches are computed in parts of at "
            f"most {self.part_tokens:,} target tokens from now on, and the steps stay the same"
        )

    def state_dict(self) -> dict[str, Any]:
        """All that the next step depends on beside data order and random numbers."""
        return {
            "model": model_tensors(self.model),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "average": self.average.weights if self.average else None,
            "scaler": self.scaler.state_dict(),
            "part_tokens": self.part_tokens,
            "skipped": self.skipped,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what :meth:`state_dict` gave, of the same model and settings.

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
        self.schedule.load_state_dict(state["schedule"])
        self.scaler.load_state_dict(state.get("scaler") or {})
        self.skipped = state.get("skipped", 0)
        # Each part is an exchange, of which all processes must have as many.
        self.part_tokens = state.get("part_tokens") if self.parallel.engine is None else None
