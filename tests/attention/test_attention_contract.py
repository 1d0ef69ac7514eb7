"""What every mechanism owes its callers: zeros where nothing is visible, float32 weights, clear errors."""

import math
from typing import Any

import pytest
import torch
from torch import nn

from tests.attention.cases import CASES, inputs
from translate.attention import create, names
from translate.attention.functional import masked_softmax


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("key", CASES)
def test_nothing_visible_gives_zeros_and_finite_gradients(key: str, need_weights: bool) -> None:
    mechanism = CASES[key].build()
    query, states, mask = inputs(CASES[key])  # sentence 2 is hidden
    query.requires_grad_()
    states.requires_grad_()
    context, weights = mechanism(query, mechanism.prepare(states, mask), need_weights=need_weights)
    output = getattr(mechanism, "output_projection", None)
    empty = torch.zeros(mechanism.context_size).double()
    if output is not None and output.bias is not None:
        empty = output.bias
    torch.testing.assert_close(context[2], empty.expand_as(context[2]))
    assert weights is None or not weights[2].any()
    context.square().sum().backward()
    for name, parameter in [("query", query), ("states", states), *mechanism.named_parameters()]:
        assert parameter.grad is None or parameter.grad.isfinite().all(), name


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("autocast", [False, True])
@pytest.mark.parametrize("key", CASES)
def test_weights_are_float32_at_the_least(key: str, autocast: bool, need_weights: bool) -> None:
    """In bfloat16, by parameters or by autocast, weights are computed in float32."""
    case, dtype = CASES[key], torch.float32 if autocast else torch.bfloat16
    mechanism = case.build(dtype)
    query, states, mask = inputs(case, dtype)
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        context, weights = mechanism(query, mechanism.prepare(states, mask), need_weights=need_weights)
    assert context.isfinite().all()
    if weights is not None:
        assert weights.dtype == torch.float32
        expected, _ = case.expected(mechanism, query, states, mask)
        assert abs(weights.detach().double().numpy() - expected).max() < 0.1


@pytest.mark.parametrize("name", names())
def test_the_two_sizes_alone_are_enough(name: str) -> None:
    mechanism = create(name, query_size=8, key_size=8).eval()
    context, weights = mechanism(
        torch.randn(2, 3, 8), mechanism.prepare(torch.randn(2, 5, 8)), need_weights=True
    )
    assert context.shape == (2, 3, mechanism.context_size)
    assert weights.shape == (2, mechanism.num_heads, 3, 5)


@pytest.mark.parametrize("key", CASES)
def test_wrong_shapes_say_what_came_and_what_was_expected(key: str) -> None:
    mechanism = CASES[key].build()
    query, states, mask = inputs(CASES[key])
    width, depth = CASES[key].sizes
    memory = mechanism.prepare(states, mask)
    for wrong in (query[..., :-1], query[:, 0], query[:2]):
        with pytest.raises(ValueError, match=rf"query: expected \(3, T, {width}\), got \({wrong.shape[0]}, "):
            mechanism(wrong, memory)
    for wrong in (states[..., :-1], states[0]):
        with pytest.raises(ValueError, match=rf"states: expected \(B, S, {depth}\), got \("):
            mechanism.prepare(wrong, None)
    for bad_mask, message in (
        (mask[:, :-1], r"mask: expected shape \(3, 7\), got \(3, 6\)"),
        (mask[:2], r"mask: expected shape \(3, 7\), got \(2, 7\)"),
        (mask.long(), r"mask: expected dtype torch\.bool \(True = visible\), got torch\.int64"),
        (mask.double(), r"mask: expected dtype torch\.bool \(True = visible\), got torch\.float64"),
    ):
        with pytest.raises(ValueError, match=message):
            mechanism.prepare(states, bad_mask)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("dot", {"query_size": 5}, "query_size == key_size, got 5 and 6; use general"),
        ("multi_head", {"num_heads": 4}, "num_heads: expected a divisor of attention_size=6, got 4"),
        ("multi_head", {"num_heads": 0}, "num_heads: expected a divisor of attention_size=6, got 0"),
        (
            "grouped_query",
            {"num_heads": 6, "num_key_value_heads": 4},
            "expected a divisor of num_heads=6, got 4",
        ),
        ("additive", {"attention_size": 0}, "attention_size: expected at least 1, got 0"),
        ("additive", {"query_size": 0}, "query_size: expected at least 1, got 0"),
        ("general", {"key_size": -2}, "key_size: expected at least 1, got -2"),
        ("sliding_window", {"window": 0}, "window: expected at least 1, got 0"),
        ("sliding_window", {"window": None}, "window: expected at least 1, got null; .* use multi_head"),
        ("alibi", {"window": 0}, "window: expected at least 1, got 0"),
        ("linear", {"window": 3}, "attention linear: .*unexpected keyword argument 'window'"),
        ("delta", {"dropout": 0.1}, "attention delta: .*unexpected keyword argument 'dropout'"),
        ("local_m", {"window": 0}, "window: expected at least 1, got 0"),
        ("local_p", {"window": -1}, "window: expected at least 1, got -1"),
        ("local_p", {"gaussian": "inside"}, "gaussian: expected one of after, before, got 'inside'"),
        ("location", {"max_length": 0}, "max_length: expected at least 1, got 0"),
        ("positional", {"max_length": 0}, "max_length: expected at least 1, got 0"),
        ("factorized_positional", {"rank": 0}, "rank: expected at least 1, got 0"),
        ("relative_bias", {"num_buckets": 2}, "num_buckets: expected at least 4, got 2"),
        ("relative_bias", {"max_distance": 8}, "max_distance: expected at least 32, got 8"),
        ("coverage", {"max_fertility": 0.0}, "max_fertility: expected a number above 0, got 0.0"),
        ("general", {"heads": 4}, "attention general: .*unexpected keyword argument 'heads'"),
        ("nope", {}, "no attention mechanism 'nope'; there are additive, alibi"),
    ],
)
def test_bad_options_are_refused(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        create(name, **{"query_size": 6, "key_size": 6, **options})


def test_masked_softmax_by_hand() -> None:
    weights = masked_softmax(torch.tensor([[0.0, math.log(3.0), 50.0]]), torch.tensor([[True, True, False]]))
    assert weights.tolist() == [pytest.approx([0.25, 0.75, 0.0])]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["multi_head", "relative_bias"])
def test_dropped_weights_are_shown_whole(name: str) -> None:
    """In training each path drops weights and scales the rest; those shown are from before."""
    torch.manual_seed(1)
    mechanism = create(name, query_size=8, key_size=8, dropout=0.5)
    mechanism.output_projection = nn.Identity()
    query, states = torch.randn(2, 3, 8), torch.randn(2, 400, 8)
    memory = mechanism.prepare(states)
    mechanism.eval()
    calm, weights = mechanism(query, memory, need_weights=True)
    torch.testing.assert_close(mechanism(query, memory)[0], calm)
    mechanism.train()
    shown = mechanism(query, memory, need_weights=True)[1]
    torch.testing.assert_close(shown, weights)
    for wanted in (False, True):
        drawn = torch.stack([mechanism(query, memory, need_weights=wanted)[0] for _ in range(400)])
        assert drawn.std(0).min() > 1e-3
        torch.testing.assert_close(drawn.mean(0), calm, rtol=0, atol=0.1)
    own = torch.stack([mechanism.attend_self(query) for _ in range(2)])
    assert not torch.equal(own[0], own[1])


def test_a_kernel_that_has_no_dropout_is_refused_with_it() -> None:
    with pytest.raises(ValueError, match=r"kernel: flash cannot run with dropout=0\.1"):
        create("multi_head", query_size=8, key_size=8, kernel="flash", dropout=0.1)
    with pytest.raises(ValueError, match=r"dropout: expected a probability in \[0, 1\), got 1\.0"):
        create("multi_head", query_size=8, key_size=8, dropout=1.0)
