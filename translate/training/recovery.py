"""Recovery from steps that fail: out of memory, numbers that are not finite, overflow of float16."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch

from translate.corpora.batching import Batch
from translate.errors import UserError
from translate.training.losses import LossTerms, batch_loss, by_tensor
from translate.training.update import NotFiniteError, StepReport, Update

MAX_SKIPPED = 10  # steps in a row; beyond that more than a few sentences must be wrong
SHOWN = 8  # pairs named in a message
TRIED = 512  # pairs whose loss is computed one by one
OUT_OF_MEMORY = ("out of memory", "not enough memory", "can't allocate memory")


class Recovery:
    """Takes the steps of an :class:`Update`, and decides what happens when one fails.

    Args:
        update: takes the steps.
        skip_non_finite: skip a step whose loss or gradient is not finite, instead of ending the run.
        lower_memory: compute batches that do not fit into memory in parts, instead of ending the run.
        text_of: the sentences of a pair by its index in the corpus, for messages.
    """

    def __init__(
        self,
        update: Update,
        *,
        skip_non_finite: bool = False,
        lower_memory: bool = False,
        text_of: Callable[[int], str] | None = None,
    ) -> None:
        self.update = update
        self.skip_non_finite = skip_non_finite
        self.lower_memory = lower_memory
        self.text_of = text_of
        self.part_tokens: int | None = None  # most target tokens computed at a time, once memory has run out
        self.skipped = 0  # steps in a row whose loss or gradient was not finite

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
                report = self._skip(failed, batches)
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
        if not self.lower_memory or len(failed.target_in) == 1:
            raise UserError(describe_out_of_memory(step, failed, alone=update.parallel.engine is None))
        tokens = failed.target_in.numel()
        self.part_tokens = max(1, tokens // 2)
        return (
            f"step {step}: out of memory at {tokens:,} target tokens, padding included; from now on "
            f"batches are computed in parts of at most {self.part_tokens:,} target tokens"
        )

    def _skip(self, report: StepReport, batches: Sequence[Batch]) -> StepReport:
        """Leave out a step with numbers that are not finite, or raise :class:`UserError`."""
        scaler, optimizer = self.update.scaler, self.update.optimizer
        nothing = report._replace(
            loss=torch.zeros_like(report.loss),
            likelihood=torch.zeros_like(report.likelihood),
            num_tokens=0,
            num_source_tokens=0,
            padded_tokens=0,
        )
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
        message = describe_not_finite(report.step, loss, norm, self._blamed(batches), self.text_of)
        self.skipped += 1
        if not self.skip_non_finite:
            raise UserError(f"{message}; lower optimizer.lr, or skip such steps: training.non_finite=skip")
        if self.skipped == MAX_SKIPPED:
            raise UserError(f"{message}; so were the {MAX_SKIPPED - 1} steps before it; lower optimizer.lr")
        return nothing._replace(notes=(message,))

    def _blamed(self, batches: Sequence[Batch]) -> list[int]:
        """The indices in the corpus of the pairs of a step whose loss, without dropout, is not finite.

        If there are none, the gradient or a dropout mask is to blame, and all pairs are returned. So they are
        with several processes: the loss of a single pair is not among the computations for which these
        exchange anything.
        """
        pairs = [index for batch in batches for index in batch.indices]
        if self.update.parallel.engine is not None:
            shares = self.update.parallel.world.gather(pairs)
            return list(dict.fromkeys(pair for share in shares for pair in share))
        if len(pairs) > TRIED:
            return pairs
        singles = [rows_of(batch, row, row + 1) for batch in batches for row in range(len(batch.indices))]
        odd = [not self._loss_is_finite(single) for single in singles]
        return [pair for pair, is_odd in zip(pairs, odd, strict=True) if is_odd] or pairs

    def _loss_is_finite(self, batch: Batch) -> bool:
        update = self.update
        update.model.eval()
        terms = LossTerms(label_smoothing=update.terms.label_smoothing)
        with torch.no_grad():
            loss = batch_loss(update.model, batch.to(update.device), terms, update.precision)
        update.model.train()
        return bool(torch.isfinite(loss.total))

    def state_dict(self) -> dict[str, Any]:
        return {"part_tokens": self.part_tokens, "skipped": self.skipped}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.skipped = state["skipped"]
        # All processes must compute the same number of parts: every part is an exchange.
        alone = self.update.parallel.engine is None
        self.part_tokens = state["part_tokens"] if alone else None


def rows_of(batch: Batch, first: int, last: int) -> Batch:
    """The pairs ``first`` to ``last`` (excluded) of a batch, padded as it is."""
    cut = by_tensor(batch, lambda tensor: tensor[first:last])
    sources, targets = (
        ids.shape[:2].numel() if mask is None else int(mask.sum())
        for ids, mask in ((cut.source, cut.source_mask), (cut.target_in, cut.target_mask))
    )
    indices = batch.indices[first:last]
    return replace(cut, indices=indices, num_tokens=targets, num_source_tokens=sources)


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


def describe_out_of_memory(step: int, batch: Batch, *, alone: bool = True) -> str:
    """The batch that did not fit, and what to try; a process that is ``alone`` may compute it in parts."""
    count, length = batch.target_in.shape
    half = max(1, count * length // 2)
    lower = ", or training.out_of_memory=lower to compute such batches in parts" if alone else ""
    return (
        f"step {step}: out of memory at a batch of {count} pairs, {batch.source.shape[1]} source and "
        f"{length} target tokens each; try training.batch_tokens={half} (with twice the training.accumulate "
        f"the steps stay as large){lower}"
    )


def describe_not_finite(
    step: int,
    loss: float,
    norm: float,
    pairs: Sequence[int],
    text_of: Callable[[int], str] | None = None,
) -> str:
    """The step and the pairs of the corpus whose loss or gradient is not finite.

    Args:
        step: optimizer step.
        loss: nats a token.
        norm: of the gradient.
        pairs: those to blame.
        text_of: the sentences of a pair, by its index in the corpus.
    """
    shown = ", ".join(str(pair + 1) for pair in pairs[:SHOWN])  # as an editor counts lines
    more = f" and {len(pairs) - SHOWN} more" if len(pairs) > SHOWN else ""
    first = f"; the first is {text_of(pairs[0])}" if text_of else ""
    return (
        f"step {step}: loss {loss:.4g} and gradient norm {norm:.4g} are not both finite, so the step was not "
        f"taken (training pairs {shown}{more}, counted after filtering{first})"
    )
