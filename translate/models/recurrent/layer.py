"""Recurrent layers over packed sentences, with the gradient through time written out.

Weights get their gradients from all positions at once, in one product, where autograd takes one a position
and adds them up; the loop holds only what depends on the position before.

Shapes: P positions of all sentences together, B sentences, I width of the input, H width of the state, G of
the gates. Packed means: position by position, the longest sentence first, as ``torch.nn.utils.rnn`` packs.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from translate.models.recurrent.recurrences import gru_backward, gru_forward, lstm_backward, lstm_forward


def writes_gradients(states: Tensor) -> bool:
    """Whether a loop over ``states`` takes its written gradient: in training, on a CPU.

    A GPU has kernels of its own.
    """
    return states.device.type == "cpu" and torch.is_grad_enabled()


def loop_precision(states: Tensor) -> torch.dtype:
    """What a loop over ``states`` on a CPU computes in: autocast's half precision, or that of the states."""
    return torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else states.dtype


def run_layers(rnn: nn.RNNBase, states: Tensor, sizes: Sequence[int]) -> tuple[Tensor, Tensor]:
    """What a GRU or LSTM makes of packed states, from zero states on; under autocast in half precision.

    Args:
        rnn: the layers, with biases.
        states: (P, I).
        sizes: sentences at each position, never more than at the one before.

    Returns:
        States (P, directions H), and the last state of each layer and direction (layers directions, B, H).
    """
    direction = {"LSTM": _LSTM, "GRU": _GRU}[rnn.mode]
    precision = loop_precision(states)
    states, finals = states.to(precision), []
    for layer in range(rnn.num_layers):
        if layer > 0:
            states = F.dropout(states, rnn.dropout, rnn.training)
        outputs = []
        for reverse in (False, True)[: 1 + rnn.bidirectional]:
            suffix = f"l{layer}{'_reverse' if reverse else ''}"
            names = (f"{kind}_{suffix}" for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
            weights = [rnn.get_parameter(name).to(precision) for name in names]
            with torch.autocast("cpu", enabled=False):
                output, final = direction.apply(states, *weights, sizes, reverse)
            outputs.append(output)
            finals.append(final)
        states = torch.cat(outputs, 1)
    return states, torch.stack(finals)


def _parts(sizes: Sequence[int], *, reverse: bool) -> Iterator[tuple[slice, int]]:
    """The rows of each position and how many they are, first or last position first."""
    parts = [(slice(end - size, end), size) for end, size in zip(accumulate(sizes), sizes, strict=True)]
    return reversed(parts) if reverse else iter(parts)


class _LSTM(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        states: Tensor,
        weight: Tensor,
        own_weight: Tensor,
        bias: Tensor,
        own_bias: Tensor,
        sizes: Sequence[int],
        reverse: bool,
    ) -> tuple[Tensor, Tensor]:
        gates = F.linear(states, weight, bias + own_bias)  # (P, 4H)
        before, cells, tanh_cells, outputs = gates.new_empty(4, len(states), own_weight.shape[1])
        # Rows that have not begun stay zero, rows that have ended keep their last state.
        last, last_cell = gates.new_zeros(2, sizes[0], own_weight.shape[1])
        for part, size in _parts(sizes, reverse=reverse):
            hidden, cell = last[:size], last_cell[:size]
            before[part] = hidden
            cells[part] = cell
            gates[part].addmm_(hidden, own_weight.t())
            lstm_forward(gates[part], cell, cell, tanh_cells[part], outputs[part])
            hidden.copy_(outputs[part])
        ctx.save_for_backward(states, weight, own_weight, gates, before, cells, tanh_cells)
        ctx.sizes, ctx.reverse = sizes, reverse
        return outputs, last

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_outputs: Tensor, of_last: Tensor) -> tuple[Tensor | None, ...]:
        states, weight, own_weight, gates, before, cells, tanh_cells = ctx.saved_tensors
        slopes = torch.empty_like(gates)
        of_last, of_cell = of_last.clone(), torch.zeros_like(of_last)
        for part, size in _parts(ctx.sizes, reverse=not ctx.reverse):
            gradient = of_last[:size].add_(of_outputs[part])
            lstm_backward(gates[part], cells[part], tanh_cells[part], gradient, of_cell[:size], slopes[part])
            torch.mm(slopes[part], own_weight, out=gradient)
        of_bias = slopes.sum(0)
        of_weights = slopes.t() @ states, slopes.t() @ before
        return slopes @ weight, *of_weights, of_bias, of_bias, None, None


class _GRU(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        states: Tensor,
        weight: Tensor,
        own_weight: Tensor,
        bias: Tensor,
        own_bias: Tensor,
        sizes: Sequence[int],
        reverse: bool,
    ) -> tuple[Tensor, Tensor]:
        gates = F.linear(states, weight, bias)  # (P, 3H)
        before, fresh, outputs = gates.new_empty(3, len(states), own_weight.shape[1])
        last = gates.new_zeros(sizes[0], own_weight.shape[1])
        for part, size in _parts(sizes, reverse=reverse):
            hidden = last[:size]
            before[part] = hidden
            from_state = torch.addmm(own_bias, hidden, own_weight.t())
            gru_forward(gates[part], from_state, hidden, fresh[part], outputs[part])
            hidden.copy_(outputs[part])
        ctx.save_for_backward(states, weight, own_weight, gates, before, fresh)
        ctx.sizes, ctx.reverse = sizes, reverse
        return outputs, last

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_outputs: Tensor, of_last: Tensor) -> tuple[Tensor | None, ...]:
        states, weight, own_weight, gates, before, fresh = ctx.saved_tensors
        size = before.shape[1]
        slopes = gates.new_empty(len(gates), 4 * size)  # of n, r, z from the input, and of n from the state
        of_last = of_last.clone()
        for part, rows in _parts(ctx.sizes, reverse=not ctx.reverse):
            gradient = of_last[:rows].add_(of_outputs[part])
            gru_backward(gates[part], before[part], fresh[part], gradient, slopes[part])
            gradient.addmm_(slopes[part, size:], own_weight)
        from_input, from_state = slopes[:, : 3 * size], slopes[:, size:]
        turned = torch.cat([weight[2 * size :], weight[: 2 * size]])  # n, r, z
        return (
            from_input @ turned,
            (from_input.t() @ states).roll(-size, 0),
            from_state.t() @ before,
            from_input.sum(0).roll(-size, 0),
            from_state.sum(0),
            None,
            None,
        )
