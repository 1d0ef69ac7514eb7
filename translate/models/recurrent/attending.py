"""The loop of a decoder that attends before each step, with the gradient through time written out.

a_t = softmax(v^T tanh(W h_{t-1} + q_t + keys)); c_t = values a_t; h_t = GRU([y_t; c_t], h_{t-1}): Bahdanau
et al. 2015, A.1.2 and A.2.2. What the word adds to queries and gates comes projected. Weights get their
gradients from all positions at once, after the loop; keys in one sum. The hidden layer of the scores, which
would be (B, T, S, A), is computed again for the gradient, as in `translate/attention/recompute.py`.

Shapes: B sentences, S source, T target, A width of the attention's hidden layer, C of the source states, D of
the state.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from translate.attention.recompute import chunks
from translate.models.recurrent.fed import LoopSource, softmax_into
from translate.models.recurrent.recurrences import gru_backward, gru_forward


class WordInputs(NamedTuple):
    """What the last word adds at each position."""

    gates: Tensor  # to those of the GRU, (B, T, 3D)
    queries: Tensor  # to those of the attention, (B, T, A)


class AttendingWeights(NamedTuple):
    """The parameters of the loop."""

    query: Tensor  # W, on h: (A, D)
    direction: Tensor  # v, (A,)
    context: Tensor  # on c: (3D, C)
    own: Tensor  # on h: (3D, D)
    own_bias: Tensor  # (3D,)


def attend_and_step(
    precision: torch.dtype, words: WordInputs, start: Tensor, source: LoopSource, weights: AttendingWeights
) -> tuple[Tensor, Tensor, Tensor]:
    """All target positions: states (B, T, D), contexts (B, T, C), and the attention weights (B, T, S).

    Args:
        precision: of all tensors but the attention weights, which are in float32 at the least.
        words: see :class:`WordInputs`.
        start: h before the first position, (B, D).
        source: keys (B, S, A), values (B, S, C) and their mask.
        weights: see :class:`AttendingWeights`.
    """
    keys, values, mask = source
    given = (each.to(precision) for each in (*words, start, keys, values, *weights))
    with torch.autocast(start.device.type, enabled=False):
        found = _Attending.apply(mask, *given)
    states, contexts, attention = (each.transpose(0, 1) for each in found)
    return states, contexts, attention


class _Attending(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        mask: Tensor | None,
        word_gates: Tensor,
        word_queries: Tensor,
        start: Tensor,
        keys: Tensor,
        values: Tensor,
        query_weight: Tensor,
        direction: Tensor,
        context_weight: Tensor,
        own_weight: Tensor,
        own_bias: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        batch, length, num_gates = word_gates.shape
        exact = torch.promote_types(start.dtype, torch.float32)
        gates = word_gates.transpose(0, 1).clone(memory_format=torch.contiguous_format)
        queries = word_queries.transpose(0, 1).clone(memory_format=torch.contiguous_format)
        states = start.new_empty(length + 1, *start.shape)
        states[0] = start
        fresh, contexts = (start.new_empty(length, batch, each) for each in (start.shape[1], values.shape[2]))
        attention = start.new_empty(length, batch, keys.shape[1], dtype=exact)
        joint = torch.cat([own_weight, query_weight])  # one product a step, of h
        joint_bias = torch.cat([own_bias, own_bias.new_zeros(len(query_weight))])
        hidden_keys, doubled = None if mask is None else ~mask, 2 * keys
        for t in range(length):
            from_state = torch.addmm(joint_bias, states[t], joint.t())
            queries[t].add_(from_state[:, num_gates:])
            scores = _scores(queries[t], doubled, direction)
            softmax_into(attention[t], scores.to(exact), hidden_keys)
            torch.bmm(attention[t].unsqueeze(1).to(values.dtype), values, out=contexts[t].unsqueeze(1))
            gates[t].addmm_(contexts[t], context_weight.t())
            gru_forward(gates[t], from_state[:, :num_gates], states[t], fresh[t], states[t + 1])
        ctx.save_for_backward(
            doubled,
            values,
            direction,
            context_weight,
            joint,
            gates,
            queries,
            states,
            fresh,
            contexts,
            attention,
        )
        return states[1:].clone(), contexts.clone(), attention.clone()

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, of_states: Tensor, of_contexts: Tensor, of_attention: Tensor
    ) -> tuple[Tensor | None, ...]:
        doubled, values, direction, context_weight, joint, *kept = ctx.saved_tensors
        gates, queries, states, fresh, contexts, attention = kept
        length, batch, size = of_states.shape
        # Of n, r and z from the input, of n from the state, and of the query.
        slopes = states.new_empty(length, batch, 4 * size + queries.shape[2])
        turned = torch.cat([context_weight[2 * size :], context_weight[: 2 * size]])  # n, r, z
        of_hidden, of_keys = torch.zeros_like(states[0]), torch.zeros_like(doubled)
        of_direction = torch.zeros_like(direction)
        of_contexts = of_contexts.clone(memory_format=torch.contiguous_format)
        for t in reversed(range(length)):
            of_hidden.add_(of_states[t])
            gru_backward(gates[t], states[t], fresh[t], of_hidden, slopes[t, :, : 4 * size])
            of_contexts[t].addmm_(slopes[t, :, : 3 * size], turned)
            of_weights = (values @ of_contexts[t].unsqueeze(2)).squeeze(2) + of_attention[t]  # (B, S)
            of_weights.mul_(attention[t])
            of_scores = torch.addcmul(of_weights, attention[t], of_weights.sum(1, keepdim=True), value=-1)
            of_query = slopes[t, :, 4 * size :]
            _scores_backward(
                queries[t], doubled, of_scores.to(doubled.dtype), of_query, of_keys, of_direction
            )
            of_query.mul_(4 * direction)
            of_hidden.addmm_(slopes[t, :, size:], joint)
        flat, before = slopes.flatten(0, 1), states[:-1].flatten(0, 1)
        from_input, from_state = flat[:, : 3 * size], flat[:, size:]
        of_joint = from_state.t() @ before
        return (
            None,
            slopes[..., : 3 * size].roll(-size, 2).transpose(0, 1),
            slopes[..., 4 * size :].transpose(0, 1),
            of_hidden,
            of_keys.mul_(4 * direction),
            attention.permute(1, 2, 0).to(values.dtype) @ of_contexts.transpose(0, 1),
            of_joint[3 * size :],
            of_direction,
            (from_input.t() @ contexts.flatten(0, 1)).roll(-size, 0),
            of_joint[: 3 * size],
            from_state[:, : 3 * size].sum(0),
        )


def _scores(query: Tensor, doubled: Tensor, direction: Tensor) -> Tensor:
    """v^T tanh(q + k) = 2 v^T sigmoid(2 q + 2 k) - sum(v), (B, S), from 2 k (B, S, A)."""
    scores, twice = query.new_empty(doubled.shape[:2]), 2 * query
    for part, _ in chunks(len(query), 1, doubled[0].numel()):
        scores[part] = (twice[part].unsqueeze(1) + doubled[part]).sigmoid_() @ direction
    return scores.mul_(2).sub_(direction.sum())


def _scores_backward(
    query: Tensor, doubled: Tensor, of_scores: Tensor, of_query: Tensor, of_keys: Tensor, of_direction: Tensor
) -> None:
    """The gradient of :func:`_scores` for g = ``of_scores``, z = sigmoid(2 q + 2 k).

    Args:
        query: q, (B, A).
        doubled: 2 k, (B, S, A).
        of_scores: g, (B, S).
        of_query: receives sum_s g z (1 - z), (B, A), which is to be multiplied by 4 v.
        of_keys: g z (1 - z) is added to it, (B, S, A); the same.
        of_direction: sum g (2 z - 1) is added to it, (A,).
    """
    twice = 2 * query
    for part, _ in chunks(len(query), 1, doubled[0].numel()):
        slope = of_scores[part]
        logistic = (twice[part].unsqueeze(1) + doubled[part]).sigmoid_()  # (b, S, A)
        of_direction.add_(slope.flatten() @ logistic.flatten(0, 1), alpha=2)
        rising = torch.addcmul(logistic, logistic, logistic, value=-1).mul_(slope.unsqueeze(2))
        torch.sum(rising, 1, out=of_query[part])
        of_keys[part].add_(rising)
    of_direction.sub_(of_scores.sum())
