"""The loops of recurrent encoders and decoders, with the gradient through time written out.

Weights, keys and values get their gradients from all positions at once, after the loop, where autograd takes
one a position and adds them up. The plain forms are torch's own layers in `models/encoders.py`, and the loops
of `models/bahdanau.py` and `models/luong.py`.

Shapes: B sentences, S source, T target, E width of the embeddings, D of the state, F of what is fed to the
cell beside the embedding, A of the attention's hidden layer, G of the gates (4D for an LSTM, 3D for a GRU).
"""

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from translate.attention.kernels import SWITCH
from translate.attention.kernels.additive import chunked_scores, scores_backward
from translate.attention.kernels.cells import CELLS

WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


class Start(NamedTuple):
    """The state before the first position."""

    hidden: Tensor  # (B, D)
    cell: Tensor  # (B, D) of an LSTM, (B, 0) of a GRU


class Source(NamedTuple):
    """The source as a decoder attends to it."""

    keys: Tensor  # (B, S, A or D)
    values: Tensor  # (B, S, F)
    mask: Tensor | None  # (B, S) bool, True = visible


def runs(kernel: str) -> bool:
    """Whether a loop takes this form: in training, if the attention's kernel may."""
    return SWITCH.on and kernel in ("auto", "chunked") and torch.is_grad_enabled()


def attend_then_step(
    rnn: nn.RNNBase,
    embedded: Tensor,
    queries: Tensor,
    start: Start,
    source: Source,
    query_weight: Tensor,
    direction: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """The loop of Bahdanau et al. 2015, A.1.2 and A.2.2, at all target positions.

    a_t = softmax(v^T tanh(W h_{t-1} + q_t + keys)); c_t = values a_t; h_t = cell([y_t; c_t], h_{t-1}).

    Args:
        rnn: one layer that reads [y; c].
        embedded: y, (B, T, E).
        queries: q, the word's part of the queries, (B, T, A).
        start: see :class:`Start`.
        source: see :class:`Source`.
        query_weight: W, (A, D).
        direction: v, (A,).

    Returns:
        States (B, T, D), contexts (B, T, F), and weights (B, T, S), these in float32 or float64.
    """
    keys, values, mask = source
    tensors = (embedded, queries, *start, keys, values, query_weight, direction)
    states, contexts, weights = _run(_AttendThenStep, rnn, mask, tensors)
    return states, contexts, weights


def step_then_attend(
    rnn: nn.RNNBase, embedded: Tensor, start: Start, source: Source, read_weight: Tensor, read_bias: Tensor
) -> tuple[Tensor, Tensor]:
    """The loop of Luong et al. 2015, 3.3, with input feeding, at all target positions.

    h_t = cell([y_t; r_{t-1}], h_{t-1}); a_t = softmax(keys h_t); r_t = tanh(values a_t + W h_t + b).

    Args:
        rnn: one layer that reads [y; r].
        embedded: y, (B, T, E).
        start: see :class:`Start`; r before the first position is 0.
        source: see :class:`Source`.
        read_weight: W, (F, D).
        read_bias: b, (F,).

    Returns:
        r (B, T, F), and weights (B, T, S), these in float32 or float64.
    """
    keys, values, mask = source
    tensors = (embedded, *start, keys, values, read_weight, read_bias)
    reads, weights = _run(_StepThenAttend, rnn, mask, tensors)
    return reads, weights


def run_layers(rnn: nn.RNNBase, states: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """Run all layers of a GRU or an LSTM with biases, which start from zero, on a CPU.

    Args:
        rnn: the layers, of one or two directions.
        states: (B, S, E).
        mask: (B, S) bool, True = visible; padding follows the words. ``None`` if there is none.

    Returns:
        States (B, S, directions D), 0 at padding, and the last state of every layer and direction,
        (layers directions, B, D).
    """
    precision = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else states.dtype
    batch, length = states.shape[:2]
    last = states.new_full((batch,), length - 1, dtype=torch.long)
    if mask is not None:
        last = (mask.sum(1) - 1).clamp_min(0)
    sentences = torch.arange(batch).unsqueeze(1)
    # From the last word on.
    backward = (sentences, (last.unsqueeze(1) - torch.arange(length)).remainder(length))
    states, finals = states.to(precision), []
    for layer in range(rnn.num_layers):
        if layer > 0:
            states = F.dropout(states, rnn.dropout, rnn.training)
        outputs = []
        for suffix, order in (("", ...), ("_reverse", backward))[: 1 + rnn.bidirectional]:
            weights = [rnn.get_parameter(f"{name}_l{layer}{suffix}").to(precision) for name in WEIGHTS]
            with torch.autocast("cpu", enabled=False):
                outputs.append(_Layer.apply(rnn.mode, order, states, *weights))
            finals.append(outputs[-1][sentences.squeeze(1), 0 if order is backward else last])
        states = torch.cat(outputs, 2)
        if mask is not None:
            states = states.masked_fill(~mask.unsqueeze(2), 0.0)
    return states, torch.stack(finals)


class _Layer(torch.autograd.Function):
    """One direction; ``order`` puts positions into that of reading, and back."""

    @staticmethod
    def forward(ctx: Any, mode: str, order: Any, embedded: Tensor, *weights: Tensor) -> Tensor:
        hidden = embedded.new_zeros(len(embedded), weights[1].shape[1])
        steps = CELLS[mode](embedded[order], 0, hidden, hidden if mode == "LSTM" else hidden[:, :0], weights)
        for t in range(embedded.shape[1]):
            steps.forward(t)
        ctx.steps, ctx.order = steps, order
        return steps.states[1:].transpose(0, 1)[order]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_outputs: Tensor) -> tuple[Tensor | None, ...]:
        steps, of_state = ctx.steps, torch.zeros_like(ctx.steps.states[0])
        of_outputs = of_outputs[ctx.order]
        for t in reversed(range(of_outputs.shape[1])):
            steps.backward(t, of_state.add_(of_outputs[:, t]), of_state)
        of_inputs, _, of_weights = steps.gradients()
        return None, None, of_inputs.transpose(0, 1)[ctx.order], *of_weights


def _run(
    loop: type[torch.autograd.Function], rnn: nn.RNNBase, mask: Tensor | None, tensors: tuple[Tensor, ...]
) -> tuple[Tensor, ...]:
    """Run a loop in autocast's precision; tensors of the result are (B, T, ...)."""
    embedded = tensors[0]
    device = embedded.device.type
    precision = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else embedded.dtype
    cell = [rnn.get_parameter(f"{name}_l0") for name in WEIGHTS]
    hidden_keys = None if mask is None else ~mask
    with torch.autocast(device, enabled=False):
        found = loop.apply(rnn.mode, hidden_keys, *(tensor.to(precision) for tensor in (*tensors, *cell)))
    return tuple(result.transpose(0, 1) for result in found)


class _AttendThenStep(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, mode: str, hidden_keys: Tensor | None, *tensors: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        embedded, word_queries, hidden, cell, keys, values, query_weight, direction, *cell_weights = tensors
        steps = CELLS[mode](embedded, values.shape[2], hidden, cell, cell_weights)
        queries = word_queries.transpose(0, 1).clone(memory_format=torch.contiguous_format)
        weights, doubled = _room_for_weights(embedded, keys), 2 * keys
        for t in range(len(queries)):
            queries[t].addmm_(steps.before(t), query_weight.t())
            scores = chunked_scores(2 * queries[t].unsqueeze(1), doubled, direction)
            _softmax_into(weights[t], scores.squeeze(1), hidden_keys)
            steps.fed(t).copy_((weights[t].unsqueeze(1).to(values.dtype) @ values).squeeze(1))
            steps.forward(t)
        ctx.steps = steps
        ctx.save_for_backward(doubled, values, query_weight, direction, queries, weights)
        contexts = steps.states[:-1, :, : steps.fed_size]
        return steps.states[1:, :, steps.fed_size :].clone(), contexts.clone(), weights.clone()

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, of_hiddens: Tensor, of_contexts: Tensor, of_weights: Tensor
    ) -> tuple[Tensor | None, ...]:
        doubled, values, query_weight, direction, queries, weights = ctx.saved_tensors
        steps = ctx.steps
        of_queries, of_keys = torch.empty_like(queries), torch.zeros_like(doubled)
        of_direction, slope = torch.zeros_like(direction), 4 * direction
        of_contexts = of_contexts.clone(memory_format=torch.contiguous_format)
        of_state = torch.zeros_like(steps.states[0])  # of [c; h] by the step after
        for t in reversed(range(len(queries))):
            steps.backward(t, of_state[:, steps.fed_size :] + of_hiddens[t], of_state)
            of_contexts[t].add_(of_state[:, : steps.fed_size])
            of_scores = _of_scores(weights[t], of_contexts[t], values, of_weights[t]).to(doubled.dtype)
            doubled_query, of_query = 2 * queries[t].unsqueeze(1), of_queries[t].unsqueeze(1)
            scores_backward(doubled_query, doubled, of_scores.unsqueeze(1), of_query, of_keys, of_direction)
            of_queries[t].mul_(slope)
            of_state[:, steps.fed_size :].addmm_(of_queries[t], query_weight)
        before = steps.states[:-1, :, steps.fed_size :]
        of_inputs, of_cell, of_cell_weights = steps.gradients()
        of_words = of_inputs.transpose(0, 1), of_queries.transpose(0, 1)
        of_start = of_state[:, steps.fed_size :], of_cell
        of_values = weights.permute(1, 2, 0).to(values.dtype) @ of_contexts.transpose(0, 1)
        of_query_weight = of_queries.flatten(0, 1).t() @ before.flatten(0, 1)
        of_source = of_keys.mul_(slope), of_values
        return None, None, *of_words, *of_start, *of_source, of_query_weight, of_direction, *of_cell_weights


class _StepThenAttend(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, mode: str, hidden_keys: Tensor | None, *tensors: Tensor) -> tuple[Tensor, Tensor]:
        embedded, hidden, cell, keys, values, read_weight, read_bias, *cell_weights = tensors
        steps = CELLS[mode](embedded, values.shape[2], hidden, cell, cell_weights)
        weights = _room_for_weights(embedded, keys)
        steps.fed(0).zero_()
        for t in range(len(weights)):
            steps.forward(t)
            state = steps.before(t + 1)
            _softmax_into(weights[t], (keys @ state.unsqueeze(2)).squeeze(2), hidden_keys)
            read = torch.addmm(read_bias, state, read_weight.t())
            read.unsqueeze(1).baddbmm_(weights[t].unsqueeze(1).to(read.dtype), values)
            torch.tanh(read, out=steps.fed(t + 1))
        ctx.steps = steps
        ctx.save_for_backward(keys, values, read_weight, weights)
        return steps.states[1:, :, : steps.fed_size].contiguous(), weights.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_reads: Tensor, of_weights: Tensor) -> tuple[Tensor | None, ...]:
        keys, values, read_weight, weights = ctx.saved_tensors
        steps = ctx.steps
        of_outputs = torch.empty_like(of_reads)  # of the pre-activations of r
        of_scores = torch.empty_like(weights)
        of_state = torch.zeros_like(steps.states[0])  # of [r; h] by the step after
        for t in reversed(range(len(weights))):
            read = steps.fed(t + 1)
            of_read = of_state[:, : steps.fed_size].add_(of_reads[t])
            torch.addcmul(of_read, of_read * read, read, value=-1, out=of_outputs[t])
            of_scores[t] = _of_scores(weights[t], of_outputs[t], values, of_weights[t])
            of_hidden = torch.addmm(of_state[:, steps.fed_size :], of_outputs[t], read_weight)
            of_hidden.unsqueeze(1).baddbmm_(of_scores[t].unsqueeze(1).to(keys.dtype), keys)
            steps.backward(t, of_hidden, of_state)
        hiddens = steps.states[1:, :, steps.fed_size :]
        of_inputs, of_cell, of_cell_weights = steps.gradients()
        of_start = of_state[:, steps.fed_size :], of_cell
        of_keys = of_scores.permute(1, 2, 0).to(keys.dtype) @ hiddens.transpose(0, 1)
        of_values = weights.permute(1, 2, 0).to(keys.dtype) @ of_outputs.transpose(0, 1)
        of_layer = of_outputs.flatten(0, 1).t() @ hiddens.flatten(0, 1), of_outputs.sum((0, 1))
        of_inputs = of_inputs.transpose(0, 1)
        return None, None, of_inputs, *of_start, of_keys, of_values, *of_layer, *of_cell_weights


def _room_for_weights(embedded: Tensor, keys: Tensor) -> Tensor:
    """Attention weights to be written, (T, B, S), in float32 or float64."""
    exact = torch.promote_types(embedded.dtype, torch.float32)
    return embedded.new_empty(embedded.shape[1], *keys.shape[:2], dtype=exact)


def _softmax_into(weights: Tensor, scores: Tensor, hidden: Tensor | None) -> None:
    """Write the softmax over the keys that are not ``hidden`` into ``weights``; zeros where all are."""
    scores = scores.to(weights.dtype)
    if hidden is not None:
        scores.masked_fill_(hidden, torch.finfo(scores.dtype).min)
    torch.softmax(scores, 1, out=weights)
    if hidden is not None:
        weights.masked_fill_(hidden, 0.0)


def _of_scores(weights: Tensor, of_context: Tensor, values: Tensor, of_weights: Tensor) -> Tensor:
    """The gradient of scores (B, S), from that of their softmax and of the context that it mixes."""
    total = (values @ of_context.unsqueeze(2)).squeeze(2) + of_weights
    total.mul_(weights)
    return torch.addcmul(total, weights, total.sum(1, keepdim=True), value=-1)
