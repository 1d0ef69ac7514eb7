"""Recovery from steps that fail: out of memory, numbers that are not finite, overflow of float16."""

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import torch

from translate.config.names import counted
from translate.corpora.batching import Batch
from translate.errors import UserError
from translate.training.update import NotFiniteError, StepReport, Update

MAX_SKIPPED = 10  # steps in a row; beyond that more than a few sentences must be wrong
OUT_OF_MEMORY = ("out of memory", "not enough memory", "can't allocate memory")


@dataclass
class Recovery:
    """Takes the steps of an :class:`Update`, and decides what happens when one fails.

    Attributes:
        update: takes the steps.
        skip_non_finite: skip a step whose loss or gradient is not finite, instead of ending the run.
        lower_memory: compute batches that do not fit into memory in parts, instead of ending the run.
        part_tokens: most target tokens computed at a time, once memory has run out.
        skipped: steps in a row whose loss or gradient was not finite.
    """

    update: Update
    _: KW_ONLY
    skip_non_finite: bool = False
    lower_memory: bool = False
    part_tokens: int | None = None
    skipped: int = 0

    def __call__(
        self, batches: Sequence[Batch], step: int, *, num_tokens: int | None = None, spare: bool = False
    ) -> StepReport:
        """Take a step; arguments as for :meth:`Update.__call__`.

        Raises:
            UserError: if the step fails, and the run is to end then.
        """
        notes: tuple[str, ...] = ()
        while True:
            computed = [part for batch in batches for part in parts(batch, self.part_tokens)]
            failed: StepReport | None = None
            try:
                report = self.update(computed, step, num_tokens=num_tokens, spare=spare)
            except NotFiniteError as error:
                failed = error.report
            except Exception as error:
                if not is_out_of_memory(error) or self.update.current is None:
                    raise
            else:
                self.skipped = 0
                return report._replace(notes=notes)
            # Outside the except clauses nothing holds the tensors of the failed attempt any more.
            if failed is not None:
                report = self._skip(failed)
                return report._replace(notes=notes + report.notes)
            notes = (self._lower(step),)

    def _lower(self, step: int) -> str:
        """Halve the tokens that are computed at a time; returns a note, or raises :class:`UserError`."""
        update = self.update
        failed = update.current
        assert failed is not None
        update.optimizer.zero_grad(set_to_none=True)
        if update.device.type == "cuda":
            torch.cuda.empty_cache()
        count, length = failed.target_in.shape
        tokens = count * length
        if not self.lower_memory or count == 1:
            alone = update.parallel.engine is None
            lower = ", or training.out_of_memory=lower to compute such batches in parts" if alone else ""
            raise UserError(
                f"step {step}: out of memory at a batch of {counted(count, 'pair')}, "
                f"{failed.source.shape[1]} source and {length} target tokens each; try "
                f"training.batch_tokens={max(1, tokens // 2)} and twice the training.accumulate{lower}"
            )
        self.part_tokens = max(1, tokens // 2)
        return (
            f"step {step}: out of memory at {tokens:,} target tokens, padding included; from now on "
            f"batches are computed in parts of at most {self.part_tokens:,} target tokens"
        )

    def _skip(self, report: StepReport) -> StepReport:
        """Leave out a step with numbers that are not finite, or raise :class:`UserError`."""
        scaler, optimizer = self.update.scaler, self.update.optimizer
        zero = torch.zeros_like(report.loss)
        nothing = report._replace(loss=zero, likelihood=zero, num_tokens=0)
        if scaler.is_enabled() and scaler.get_scale() > 1 and torch.isfinite(report.loss):
            scaler.step(optimizer)  # takes no step: it has seen the overflow
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
            note = f"step {report.step}: the gradient overflowed float16; the loss is now scaled by "
            return nothing._replace(notes=(f"{note}{scaler.get_scale():g}",))
        optimizer.zero_grad(set_to_none=True)
        if scaler.is_enabled():
            scaler.update()
        loss, norm = report.loss.item() / report.num_tokens, report.gradient_norm.item()
        message = (
            f"step {report.step}: loss {loss:.4g} and gradient norm {norm:.4g} are not both finite, so the "
            "step was not taken"
        )
        self.skipped += 1
        if not self.skip_non_finite:
            raise UserError(f"{message}; lower optimizer.lr, or skip such steps: training.non_finite=skip")
        if self.skipped == MAX_SKIPPED:
            raise UserError(f"{message}; so were the {MAX_SKIPPED - 1} steps before it; lower optimizer.lr")
        return nothing._replace(notes=(message,))

    def state_dict(self) -> dict[str, Any]:
        return {"part_tokens": self.part_tokens, "skipped": self.skipped}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.skipped = state["skipped"]
        # All processes must compute the same number of parts: every part is an exchange.
        alone = self.update.parallel.engine is None
        self.part_tokens = state["part_tokens"] if alone else None


def rows_of(batch: Batch, first: int, last: int) -> Batch:
    """The pairs ``first`` to ``last`` (excluded) of a batch, padded as it is."""
    cut = batch.by_tensor(lambda tensor: tensor[first:last])
    mask = cut.target_mask
    targets = cut.target_in.numel() if mask is None else int(mask.sum())
    return replace(cut, indices=batch.indices[first:last], num_tokens=targets)


def parts(batch: Batch, batch_tokens: int | None) -> Iterator[Batch]:
    """A batch in parts of at most ``batch_tokens`` target tokens, padding included; ``None``: whole."""
    count, length = batch.target_in.shape
    if batch_tokens is None or count * length <= batch_tokens:
        yield batch
        return
    rows = max(1, batch_tokens // length)
    for first in range(0, count, rows):
        yield rows_of(batch, first, first + rows)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether memory ran out; torch raises its own class for that only on GPUs."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(phrase in str(error) for phrase in OUT_OF_MEMORY)
