"""R-Drop: two passes with other dropout masks shall predict alike (Liang et al. 2021)."""

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from translate.corpora.batching import Batch

CHUNK_ELEMENTS = 2**22  # scores of a pass held at a time


def twice(batch: Batch) -> Batch:
    """The batch with each pair a second time, after all others; the counts stay those of one pass."""

    def repeated(tensor: Tensor | None) -> Tensor | None:
        return None if tensor is None else torch.cat([tensor, tensor])

    return replace(
        batch,
        source=torch.cat([batch.source, batch.source]),
        source_mask=repeated(batch.source_mask),
        target_in=torch.cat([batch.target_in, batch.target_in]),
        target_out=torch.cat([batch.target_out, batch.target_out]),
        target_mask=repeated(batch.target_mask),
        guide=repeated(batch.guide),
    )


def divergence(first: Tensor, second: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """The symmetric divergence of two passes, summed over tokens: eq. 2, (KL(p|q) + KL(q|p)) / 2.

    It is sum (p - q) (log p - log q) / 2. The scores (N, V) are computed chunk by chunk, and again for the
    gradient, so that they are never held for all tokens.

    Args:
        first: hidden states (N, D) of one pass.
        second: of the other pass, (N, D).
        weight: (V, D) of the output.
        bias: (V,) or ``None``.
    """
    rows = max(16, CHUNK_ELEMENTS // weight.shape[0])
    total = first.new_zeros((), dtype=torch.promote_types(first.dtype, torch.float32))
    for one, two in zip(first.split(rows), second.split(rows), strict=True):
        part = checkpoint(_divergence, one, two, weight, bias, use_reentrant=False, preserve_rng_state=False)
        total = total + part
    return total


def _divergence(first: Tensor, second: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    precise = torch.promote_types(first.dtype, torch.float32)
    one, two = (torch.log_softmax(F.linear(each, weight, bias).to(precise), -1) for each in (first, second))
    return 0.5 * ((one.exp() - two.exp()) * (one - two)).sum()
