"""The loop of a decoder with input feeding, with the gradient through time written out.

h_t, c_t = LSTM([y_t; h~_{t-1}], h_{t-1}, c_{t-1}); a_t = softmax(keys h_t);
h~_t = tanh(values a_t + W h_t + b):
Luong et al. 2015, 3.3, where the values are already multiplied by their half of W_c. Weights, keys and values
get their gradients from all positions at once, after the loop.

Shapes: B sentences, S source, T target, E width of the embeddings, D of the state, R of h~.
"""

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from translate.models.recurrent.recurrences import lstm_backward, lstm_forward


class DecoderStart(NamedTuple):
    """The state before the first position."""

    hidden: Tensor  # (B, D)
    cell: Tensor  # (B, D)


class LoopWeights(NamedTuple):
    """The parameters of the loop."""

    embedded: Tensor  # of the gates, on y: (4D, E)
    loop: Tensor  # of the gates, on [h~; h]: (4D, R + D)
    gates_bias: Tensor  # (4D,)
    read: Tensor  # W, (R, D)
    read_bias: Tensor  # b, (R,)


class LoopSource(NamedTuple):
    """What the decoder attends to."""

    keys: Tensor  # (B, S, D)
    values: Tensor  # (B, S, R)
    mask: Tensor | None  # (B, S) bool, True = visible


def feed(
    embedded: Tensor, start: DecoderStart, source: LoopSource, weights: LoopWeights
) -> tuple[Tensor, Tensor]:
    """All target positions: h~ (B, T, R), and the attention weights (B, T, S).

    Args:
        embedded: y, (B, T, E).
        start: see :class:`DecoderStart`.
        source: see :class:`LoopSource`.
        weights: see :class:`LoopWeights`.
    """
    reads, attention = _Feed.apply(embedded, *start, *source, *weights)
    return reads.transpose(0, 1), attention.transpose(0, 1)


class _Feed(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        embedded: Tensor,
        hidden: Tensor,
        cell: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor | None,
        embedded_weight: Tensor,
        loop_weight: Tensor,
        gates_bias: Tensor,
        read_weight: Tensor,
        read_bias: Tensor,
    ) -> tuple[Tensor, Tensor]:
        batch, length, _ = embedded.shape
        read_size, size = read_weight.shape
        read_inputs = embedded.transpose(0, 1).contiguous()  # (T, B, E)
        gates = F.linear(read_inputs, embedded_weight, gates_bias)  # (T, B, 4D)
        # The inputs of each step and what it writes are one tensor: [h~; h] at t is read, at t + 1 written.
        states = gates.new_empty(length + 1, batch, read_size + size)
        states[0, :, :read_size] = 0
        states[0, :, read_size:] = hidden
        cells = gates.new_empty(length + 1, batch, size)
        cells[0] = cell
        tanh_cells = gates.new_empty(length, batch, size)
        attention = gates.new_empty(length, batch, keys.shape[1])
        hidden_keys = None if mask is None else ~mask
        for t in range(length):
            gates[t].addmm_(states[t], loop_weight.t())
            state = states[t + 1, :, read_size:]
            lstm_forward(gates[t], cells[t], cells[t + 1], tanh_cells[t], state)
            scores = (keys @ state.unsqueeze(2)).squeeze(2)  # (B, S)
            _softmax(scores, hidden_keys, attention[t])
            read = torch.addmm(read_bias, state, read_weight.t())
            read.unsqueeze(1).baddbmm_(attention[t].unsqueeze(1), values)
            torch.tanh(read, out=states[t + 1, :, :read_size])
        ctx.save_for_backward(
            read_inputs, keys, values, embedded_weight, loop_weight, read_weight,
            gates, states, cells, tanh_cells, attention,
        )  # fmt: skip
        return states[1:, :, :read_size].contiguous(), attention.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_reads: Tensor, of_attention: Tensor) -> tuple[Tensor | None, ...]:
        (
            inputs, keys, values, embedded_weight, loop_weight, read_weight,
            gates, states, cells, tanh_cells, attention,
        ) = ctx.saved_tensors  # fmt: skip
        length, batch, read_size = of_reads.shape
        slopes = torch.empty_like(gates)
        of_outputs = torch.empty_like(of_reads)  # of what h~ is the tanh of
        of_scores = torch.empty_like(attention)
        of_cell = torch.zeros_like(cells[0])
        of_state = gates.new_zeros(batch, states.shape[2])  # of [h~; h] by the step after
        for t in reversed(range(length)):
            read = states[t + 1, :, :read_size]
            of_read = of_state[:, :read_size].add_(of_reads[t])
            torch.addcmul(of_read, of_read * read, read, value=-1, out=of_outputs[t])
            of_weights = (values @ of_outputs[t].unsqueeze(2)).squeeze(2)  # (B, S)
            of_weights.add_(of_attention[t])
            of_weights.mul_(attention[t])
            torch.addcmul(
                of_weights, attention[t], of_weights.sum(1, keepdim=True), value=-1, out=of_scores[t]
            )
            of_hidden = torch.addmm(of_state[:, read_size:], of_outputs[t], read_weight)
            of_hidden.unsqueeze(1).baddbmm_(of_scores[t].unsqueeze(1), keys)
            lstm_backward(gates[t], cells[t], tanh_cells[t], of_hidden, of_cell, slopes[t])
            torch.mm(slopes[t], loop_weight, out=of_state)
        flat, flat_outputs = slopes.flatten(0, 1), of_outputs.flatten(0, 1).t()
        hiddens = states[1:, :, read_size:]
        return (
            (slopes @ embedded_weight).transpose(0, 1),
            of_state[:, read_size:],
            of_cell,
            of_scores.permute(1, 2, 0) @ hiddens.transpose(0, 1),
            attention.permute(1, 2, 0) @ of_outputs.transpose(0, 1),
            None,
            flat.t() @ inputs.flatten(0, 1),
            flat.t() @ states[:-1].flatten(0, 1),
            flat.sum(0),
            flat_outputs @ hiddens.flatten(0, 1),
            of_outputs.sum((0, 1)),
        )


def _softmax(scores: Tensor, hidden: Tensor | None, weights: Tensor) -> None:
    """Write the softmax over the keys that are not ``hidden`` into ``weights``; zeros where all are."""
    if hidden is not None:
        scores.masked_fill_(hidden, torch.finfo(scores.dtype).min)
    torch.softmax(scores, 1, out=weights)
    if hidden is not None:
        weights.masked_fill_(hidden, 0.0)
