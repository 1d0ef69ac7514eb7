"""Every mechanism against plain loops in float64, and the properties of attention."""

import math

import pytest
import torch
from torch import Tensor

from translate import attention
from translate.attention.functional import masked_softmax

BATCH, TARGETS, SOURCES, QUERY, KEY = 2, 3, 5, 6, 6
NAMES = attention.names()


def _mechanism(name: str) -> attention.Attention:
    torch.manual_seed(7)
    options = {"num_heads": 2} if name == "multi_head" else {}
    return attention.create(name, query_size=QUERY, key_size=KEY, **options).double().eval()


def _inputs() -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(11)
    query = torch.randn(BATCH, TARGETS, QUERY, generator=generator, dtype=torch.float64)
    states = torch.randn(BATCH, SOURCES, KEY, generator=generator, dtype=torch.float64)
    mask = torch.tensor([[True] * 5, [True, True, True, False, False]])
    return query, states, mask


def _score(mechanism: attention.Attention, head: int, query: Tensor, state: Tensor) -> float:
    """One score from the paper's equation, number by number."""
    if isinstance(mechanism, attention.Additive):  # and Concat
        projected = mechanism.query_projection(query) + mechanism.key_projection(state)
        return sum(
            v.item() * math.tanh(x.item()) for v, x in zip(mechanism.direction, projected, strict=True)
        )
    if isinstance(mechanism, attention.MultiHead):
        width = mechanism.head_size
        place = slice(head * width, (head + 1) * width)
        key = mechanism.key_value_projection(state).chunk(2)[0][place]
        wanted = mechanism.query_projection(query)[place]
        return sum(a.item() * b.item() for a, b in zip(wanted, key, strict=True)) / math.sqrt(width)
    key = mechanism.key_projection(state) if isinstance(mechanism, attention.General) else state
    return sum(a.item() * b.item() for a, b in zip(query, key, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_weights_equal_plain_loops(name: str) -> None:
    mechanism, (query, states, mask) = _mechanism(name), _inputs()
    with torch.no_grad():
        weights = mechanism(query, mechanism.prepare(states, mask), need_weights=True)[1]
        assert weights.shape == (BATCH, mechanism.num_heads, TARGETS, SOURCES)
        for b in range(BATCH):
            for h in range(mechanism.num_heads):
                for t in range(TARGETS):
                    scores = [
                        math.exp(_score(mechanism, h, query[b, t], states[b, s])) if mask[b, s] else 0.0
                        for s in range(SOURCES)
                    ]
                    expected = [score / sum(scores) for score in scores]
                    assert weights[b, h, t].tolist() == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("name", [name for name in NAMES if _mechanism(name).fusible])
@pytest.mark.parametrize("masked", [False, True])
def test_fused_equals_explicit_forward_and_gradient(name: str, masked: bool) -> None:
    mechanism, (query, states, mask) = _mechanism(name), _inputs()
    results = []
    for need_weights in (False, True):
        q, s = query.clone().requires_grad_(), states.clone().requires_grad_()
        context, _ = mechanism(q, mechanism.prepare(s, mask if masked else None), need_weights=need_weights)
        weight = torch.linspace(-1, 1, context.numel(), dtype=torch.float64).view_as(context)
        gradients = torch.autograd.grad((context * weight).sum(), [q, s, *mechanism.parameters()])
        results.append([context, *gradients])
    for fused, explicit in zip(*results, strict=True):
        torch.testing.assert_close(fused, explicit, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("need_weights", [False, True])
def test_padding_changes_nothing(name: str, need_weights: bool) -> None:
    mechanism, (query, states, _) = _mechanism(name), _inputs()
    padded = torch.cat([states, torch.full((BATCH, 4, KEY), 9.0, dtype=torch.float64)], dim=1)
    mask = (torch.arange(SOURCES + 4) < SOURCES).expand(BATCH, -1)
    alone = mechanism(query, mechanism.prepare(states), need_weights=need_weights)[0]
    with_padding = mechanism(query, mechanism.prepare(padded, mask), need_weights=need_weights)[0]
    torch.testing.assert_close(alone, with_padding, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_keys_may_be_permuted_and_queries_carry_their_outputs(name: str) -> None:
    mechanism, (query, states, mask) = _mechanism(name), _inputs()
    keys, queries = torch.tensor([3, 0, 4, 1, 2]), torch.tensor([2, 0, 1])
    context = mechanism(query, mechanism.prepare(states, mask))[0]
    turned = mechanism(query[:, queries], mechanism.prepare(states[:, keys], mask[:, keys]))[0]
    torch.testing.assert_close(context[:, queries], turned, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("need_weights", [False, True])
def test_nothing_visible_gives_zeros_and_finite_gradients(name: str, need_weights: bool) -> None:
    mechanism, (query, states, mask) = _mechanism(name), _inputs()
    mask = mask.clone()
    mask[1] = False
    states = states.requires_grad_()
    context, weights = mechanism(query, mechanism.prepare(states, mask), need_weights=need_weights)
    empty = mechanism.merge(
        torch.zeros(1, mechanism.num_heads, 1, context.shape[-1] // mechanism.num_heads).double()
    )
    torch.testing.assert_close(context[1], empty[0].expand(TARGETS, -1))  # zeros, through the output layer
    if weights is not None:
        assert not weights[1].any()
    context.sum().backward()
    assert states.grad is not None
    assert states.grad.isfinite().all()


def test_masked_softmax_by_hand() -> None:
    weights = masked_softmax(torch.tensor([[0.0, math.log(3.0), 50.0]]), torch.tensor([[True, True, False]]))
    assert weights.tolist() == [pytest.approx([0.25, 0.75, 0.0])]


def test_causal_outputs_do_not_see_the_future() -> None:
    torch.manual_seed(3)
    mechanism = attention.MultiHead(QUERY, QUERY, 2, causal=True).double()
    states = torch.randn(1, 5, QUERY, dtype=torch.float64)
    changed = states.clone()
    changed[:, 3:] += 1.0
    for need_weights in (False, True):
        before = mechanism(states, mechanism.prepare(states), need_weights=need_weights)[0]
        after = mechanism(changed, mechanism.prepare(changed), need_weights=need_weights)[0]
        torch.testing.assert_close(before[:, :3], after[:, :3])
        assert not torch.allclose(before[:, 3:], after[:, 3:])


def test_bad_inputs_say_what_came_and_what_was_expected() -> None:
    mechanism, (query, states, mask) = _mechanism("additive"), _inputs()
    with pytest.raises(ValueError, match=r"states: expected \(B, S, 6\), got \(2, 5, 5\)"):
        mechanism.prepare(states[..., :5])
    with pytest.raises(ValueError, match=r"query: expected \(B, T, 6\), got \(2, 3, 4\)"):
        mechanism(query[..., :4], mechanism.prepare(states))
    with pytest.raises(ValueError, match=r"mask: expected shape \(2, 5\), got \(2, 4\)"):
        mechanism.prepare(states, mask[:, :4])
    with pytest.raises(ValueError, match=r"mask: expected dtype torch\.bool"):
        mechanism.prepare(states, mask.long())
    with pytest.raises(ValueError, match="expected a divisor of attention_size=6, got 4"):
        attention.create("multi_head", query_size=6, key_size=6, num_heads=4)
    with pytest.raises(ValueError, match="query_size == key_size, got 6 and 5"):
        attention.create("dot", query_size=6, key_size=5)
    with pytest.raises(ValueError, match="no attention mechanism 'nope'"):
        attention.create("nope", query_size=6, key_size=6)
