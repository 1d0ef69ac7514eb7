"""Steps that fail: numbers that are not finite, batches that do not fit into the memory."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from translate.corpora.batching import Batch

SHOWN = 8  # pairs named in a message
TRIED = 512  # pairs whose loss is looked at one by one
OUT_OF_MEMORY = ("out of memory", "not enough memory", "can't allocate memory")


def rows_of(batch: Batch, first: int, last: int) -> Batch:
    """The pairs ``first`` to ``last`` (excluded) of a batch, as wide as it is."""

    def cut(tensor: Tensor | None) -> Tensor | None:
        return None if tensor is None else tensor[first:last]

    target_mask, source_mask = cut(batch.target_mask), cut(batch.source_mask)
    count = min(last, len(batch.target_in)) - first
    targets = count * batch.target_in.shape[1] if target_mask is None else int(target_mask.sum())
    sources = count * batch.source.shape[1] if source_mask is None else int(source_mask.sum())
    return replace(
        batch,
        source=batch.source[first:last],
        source_mask=source_mask,
        target_in=batch.target_in[first:last],
        target_out=batch.target_out[first:last],
        target_mask=target_mask,
        indices=batch.indices[first:last],
        num_tokens=targets,
        num_source_tokens=sources,
        guide=cut(batch.guide),
    )


def parts(batch: Batch, batch_tokens: int | None) -> Iterator[Batch]:
    """A batch in parts of at most so many target tokens, padding included; whole without a limit."""
    count, length = batch.target_in.shape
    if batch_tokens is None or count * length <= batch_tokens:
        yield batch
        return
    rows = max(1, batch_tokens // length)
    for first in range(0, count, rows):
        yield rows_of(batch, first, first + rows)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether torch or Python found no memory; torch's own class for it is that of GPUs alone."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(each in str(error) for each in OUT_OF_MEMORY)


def describe_out_of_memory(step: int, batch: Batch, *, alone: bool = True) -> str:
    """What did not fit, and what to try; parts are for a process ``alone``."""
    count, length = batch.target_in.shape
    half = max(1, count * length // 2)
    lower = ", or training.out_of_memory=lower to compute such batches in parts" if alone else ""
    return (
        f"step {step}: out of memory at a batch of {count} pairs, {batch.source.shape[1]} source and "
        f"{length} target places each; try training.batch_tokens={half} (with twice the training.accumulate "
        f"the steps stay as large){lower}"
    )


def blamed(batches: Sequence[Batch], loss_of: Callable[[Batch], float]) -> list[int]:
    """The pairs of a step, by their places in the corpus, that have a loss that is not finite.

    Without any, the gradient or a dropout mask is to blame, and all pairs are named.

    Args:
        batches: of the step.
        loss_of: the loss of a batch without dropout; called with single pairs.
    """
    pairs = [index for batch in batches for index in batch.indices]
    if len(pairs) > TRIED:
        return pairs
    singles = [rows_of(batch, row, row + 1) for batch in batches for row in range(len(batch.indices))]
    odd = [not torch.isfinite(torch.tensor(loss_of(single))) for single in singles]
    return [pair for pair, is_odd in zip(pairs, odd, strict=True) if is_odd] or pairs


def describe_not_finite(
    step: int,
    loss: float,
    norm: float,
    pairs: Sequence[int],
    text_of: Callable[[int], str] | None = None,
) -> str:
    """Which step and which pairs of the corpus gave a loss or gradient that is not finite.

    Args:
        step: optimizer step.
        loss: nats a token.
        norm: of the gradient.
        pairs: of :func:`blamed`.
        text_of: the sentences of a pair, by its place in the corpus.
    """
    shown = ", ".join(str(pair + 1) for pair in pairs[:SHOWN])  # as an editor counts lines
    more = f" and {len(pairs) - SHOWN} more" if len(pairs) > SHOWN else ""
    first = f"; the first is {text_of(pairs[0])}" if text_of else ""
    return (
        f"step {step}: loss {loss:.4g} and gradient norm {norm:.4g} are not both finite, so the step was not "
        f"taken (training pairs {shown}{more}, counted after filtering{first})"
    )
