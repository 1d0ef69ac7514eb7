"""The loop of a decoder with input feeding, with the gradient through time written out.

h_t = cell([y_t; h~_{t-1}], h_{t-1}); a_t = softmax(keys h_t); h~_t = tanh(values a_t + W h_t + b):
Luong et al. 2015, 3.3, where the values are already multiplied by their half of W_c. The cell is of
`fed_cells.py`. Weights, keys and values get their gradients from all positions at once, after the loop.

Shapes: B sentences, S source, T target, E width of the embeddings, D of the state, R of h~.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from translate.models.recurrent.fed_cells import FED_CELLS, CellWeights


class DecoderStart(NamedTuple):
    """The state before the first position."""

    hidden: Tensor  # (B, D)
    cell: Tensor  # (B, D) of an LSTM, (B, 0) of a GRU


class LoopSource(NamedTuple):
    """What the decoder attends to."""

    keys: Tensor  # (B, S, D)
    values: Tensor  # (B, S, R)
    mask: Tensor | None  # (B, S) bool, True = visible


class ReadWeights(NamedTuple):
    """The parameters of h~."""

    weight: Tensor  # W, (R, D)
    bias: Tensor  # b, (R,)


def feed(
    kind: str,
    precision: torch.dtype,
    embedded: Tensor,
    start: DecoderStart,
    source: LoopSource,
    read: ReadWeights,
    cell: CellWeights,
) -> tuple[Tensor, Tensor]:
    """All target positions: h~ (B, T, R), and the attention weights (B, T, S), in float32 at the least.

    Args:
        kind: ``lstm`` or ``gru``.
        precision: of all tensors but the attention weights.
        embedded: y, (B, T, E).
        start: see :class:`DecoderStart`.
        source: see :class:`LoopSource`.
        read: see :class:`ReadWeights`.
        cell: see :class:`CellWeights`.
    """
    keys, values, mask = source
    given = (each.to(precision) for each in (embedded, *start, keys, values, *read, *cell))
    with torch.autocast(embedded.device.type, enabled=False):
        reads, attention = _Feed.apply(kind, mask, *given)
    return reads.transpose(0, 1), attention.transpose(0, 1)


class _Feed(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        kind: str,
        mask: Tensor | None,
        embedded: Tensor,
        hidden: Tensor,
        cell: Tensor,
        keys: Tensor,
        values: Tensor,
        read_weight: Tensor,
        read_bias: Tensor,
        *cell_weights: Tensor,
    ) -> tuple[Tensor, Tensor]:
        batch, length, _ = embedded.shape
        read_size, size = read_weight.shape
        # The inputs of each step and what it writes are one tensor: [h~; h] at t is read, at t + 1 written.
        states = embedded.new_empty(length + 1, batch, read_size + size)
        states[0, :, :read_size] = 0
        states[0, :, read_size:] = hidden
        inputs = embedded.transpose(0, 1).contiguous()  # (T, B, E)
        steps = FED_CELLS[kind](inputs, CellWeights(*cell_weights), states, cell)
        exact = torch.promote_types(embedded.dtype, torch.float32)
        attention = embedded.new_empty(length, batch, keys.shape[1], dtype=exact)
        hidden_keys = None if mask is None else ~mask
        for t in range(length):
            state = steps.forward(t)
            scores = (keys @ state.unsqueeze(2)).squeeze(2)  # (B, S)
            softmax_into(attention[t], scores.to(exact), hidden_keys)
            read = torch.addmm(read_bias, state, read_weight.t())
            read.unsqueeze(1).baddbmm_(attention[t].unsqueeze(1).to(read.dtype), values)
            torch.tanh(read, out=states[t + 1, :, :read_size])
        ctx.steps = steps
        ctx.save_for_backward(keys, values, read_weight, states, attention, *cell_weights)
        return states[1:, :, :read_size].contiguous(), attention.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_reads: Tensor, of_attention: Tensor) -> tuple[Tensor | None, ...]:
        keys, values, read_weight, states, attention, *cell_weights = ctx.saved_tensors
        steps, weights = ctx.steps, CellWeights(*cell_weights)
        length, batch, read_size = of_reads.shape
        of_outputs = torch.empty_like(of_reads)  # of what h~ is the tanh of
        of_scores = torch.empty_like(attention)
        of_state = states.new_zeros(batch, states.shape[2])  # of [h~; h] by the step after
        for t in reversed(range(length)):
            read = states[t + 1, :, :read_size]
            of_read = of_state[:, :read_size].add_(of_reads[t])
            torch.addcmul(of_read, of_read * read, read, value=-1, out=of_outputs[t])
            of_weights = (values @ of_outputs[t].unsqueeze(2)).squeeze(2) + of_attention[t]  # (B, S)
            of_weights.mul_(attention[t])
            torch.addcmul(
                of_weights, attention[t], of_weights.sum(1, keepdim=True), value=-1, out=of_scores[t]
            )
            of_hidden = torch.addmm(of_state[:, read_size:], of_outputs[t], read_weight)
            of_hidden.unsqueeze(1).baddbmm_(of_scores[t].unsqueeze(1).to(keys.dtype), keys)
            steps.backward(t, weights, of_hidden, of_state)
        hiddens = states[1:, :, read_size:]
        of_inputs, of_cell, of_weights = steps.gradients(weights)
        return (
            None,
            None,
            of_inputs.transpose(0, 1),
            of_state[:, read_size:],
            of_cell,
            of_scores.permute(1, 2, 0).to(keys.dtype) @ hiddens.transpose(0, 1),
            attention.permute(1, 2, 0).to(keys.dtype) @ of_outputs.transpose(0, 1),
            of_outputs.flatten(0, 1).t() @ hiddens.flatten(0, 1),
            of_outputs.sum((0, 1)),
            *of_weights,
        )


def softmax_into(weights: Tensor, scores: Tensor, hidden: Tensor | None) -> None:
    """Write the softmax over the keys that are not ``hidden`` into ``weights``; zeros where all are."""
    if hidden is not None:
        scores.masked_fill_(hidden, torch.finfo(scores.dtype).min)
    torch.softmax(scores, 1, out=weights)
    if hidden is not None:
        weights.masked_fill_(hidden, 0.0)
