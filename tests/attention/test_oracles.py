"""Every mechanism against plain loops in float64: weights and contexts, explicit and fused, step by step."""

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.attention import oracles
from tests.attention.cases import CASES, SELVES, Case, inputs, missing_oracles
from translate.attention import Attention, names
from translate.attention.memory import SourceParts, each_tensor, select_rows

TOLERANCES = [(torch.float64, 1e-10), (torch.float32, 1e-5)]


def gap(found: Tensor, expected: np.ndarray) -> float:
    assert found.shape == expected.shape
    return float(np.abs(found.detach().double().numpy() - expected).max())


def test_every_mechanism_has_an_oracle() -> None:
    assert missing_oracles() == []
    assert {case.name for case in CASES.values()} == set(names())


@pytest.mark.parametrize(("dtype", "tolerance"), TOLERANCES, ids=["float64", "float32"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_weights_and_context(case: Case, dtype: torch.dtype, tolerance: float) -> None:
    mechanism = case.build(dtype)
    query, states, mask = inputs(case, dtype)
    expected_weights, expected_context = case.expected(mechanism, query, states, mask)
    memory = mechanism.prepare(states, mask)
    context, weights = mechanism(query, memory, need_weights=True)
    assert weights.shape == (len(query), mechanism.num_heads, query.shape[1], states.shape[1])
    assert gap(weights, expected_weights) < tolerance
    assert gap(context, expected_context) < tolerance
    fused, none = mechanism(query, memory)
    assert none is None
    assert gap(fused, expected_context) < tolerance


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_without_a_mask_all_is_visible(case: Case) -> None:
    mechanism = case.build()
    query, states, mask = inputs(case)
    expected_weights, expected_context = case.expected(mechanism, query, states, torch.ones_like(mask))
    memory = mechanism.prepare(states)
    context, weights = mechanism(query, memory, need_weights=True)
    assert gap(weights, expected_weights) < 1e-10
    assert gap(context, expected_context) < 1e-10
    assert gap(mechanism(query, memory)[0], expected_context) < 1e-10


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_steps_of_several_hypotheses_equal_teacher_forcing(case: Case) -> None:
    """W hypotheses a sentence go through a target one position a step, and are reordered on the way."""
    mechanism = case.build()
    query, states, mask = inputs(case)
    width = 2
    targets = torch.stack([query, query.flip(0) + 0.3], dim=1)  # (B, W, T, Q)
    memory = mechanism.prepare(states, mask)
    expected = [mechanism(targets[:, w], memory, need_weights=True) for w in range(width)]
    state = each_tensor(mechanism.initial_state(memory), lambda rows: rows.repeat_interleave(width, 0))
    order = list(range(width))
    for t in range(query.shape[1]):
        asked = targets[:, order, t]  # (B, W, Q)
        context, weights = mechanism(asked, memory, need_weights=True, state=state)
        for place, w in enumerate(order):
            assert torch.allclose(context[:, place], expected[w][0][:, t], atol=1e-12)
            assert torch.allclose(weights[:, :, place], expected[w][1][:, :, t], atol=1e-12)
        if not mechanism.stateful:
            assert torch.allclose(mechanism(asked, memory, state=state)[0], context, atol=1e-12)
        state = mechanism.advance(state, weights)
        order.reverse()
        if state is not None:
            state = state.unflatten(0, (-1, width)).flip(1).flatten(0, 1)


# Lengths of the last sentence and of those before it; one source has a single sentence.
SENTENCES = [[2, 2, 1, 1, 1, 0, 0], [1, 1, 0, 0, 0, 0, 0], [0] * 7]


def test_the_document_of_a_hierarchical_attention() -> None:
    case = CASES["hierarchical"]
    mechanism = case.build()
    query, states, mask = inputs(case)
    sentences = torch.tensor(SENTENCES)
    mechanism.num_sentences = 3
    mask[0, 2:5] = False  # a sentence without a visible word
    memory = mechanism.prepare_parts(states, mask, SourceParts(sentences=sentences))
    context, weights = mechanism(query, memory, need_weights=True)
    parameters = {name: p.detach().numpy() for name, p in mechanism.named_parameters()}
    for b in range(3):
        expected_weights, expected_context = oracles.hierarchical(
            parameters, query[b].numpy(), states[b].numpy(), mask[b].tolist(), SENTENCES[b]
        )
        assert gap(weights[b], expected_weights) < 1e-10
        assert gap(context[b], expected_context) < 1e-10
    assert torch.equal(mechanism(query, memory)[0], context)
    rows = torch.tensor([2, 0])
    assert torch.allclose(mechanism(query[rows], select_rows(memory, rows))[0], context[rows])
    mechanism.num_sentences = 2
    merged = [[min(each, 1) for each in numbers] for numbers in SENTENCES]
    wanted = mechanism(
        query, mechanism.prepare_parts(states, mask, SourceParts(sentences=torch.tensor(merged)))
    )
    assert torch.equal(mechanism(query, memory)[0], wanted[0])
    with pytest.raises(ValueError, match="sentences: expected"):
        mechanism.prepare_parts(states, mask, SourceParts(sentences=sentences[:, 1:]))


def self_attention(key: str, *, causal: bool) -> tuple[Attention, Case]:
    own = CASES[key]
    own = Case(own.name, own.oracle, {**own.options, "causal": causal}, own.given, (11, 11))
    return own.build(), own


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("key", SELVES)
def test_a_sequence_that_attends_to_itself(key: str, causal: bool) -> None:
    mechanism, case = self_attention(key, causal=causal)
    _, states, mask = inputs(case)
    _, expected = case.expected(mechanism, states, states, mask)
    assert gap(mechanism.attend_self(states, mask), expected) < 1e-10
    context, weights = mechanism(states, mechanism.prepare(states, mask), need_weights=True)
    assert gap(context, expected) < 1e-10
    if causal:
        assert not weights.triu(1).any()


@pytest.mark.parametrize("key", SELVES)
@pytest.mark.parametrize("length", [1, 5, 131])
def test_cached_steps_equal_the_whole_sequence(key: str, length: int) -> None:
    """For linear and delta: the recurrent form equals the parallel form, over several chunks."""
    mechanism, _ = self_attention(key, causal=True)
    states = torch.randn(2, length, 11, dtype=torch.float64)
    whole = mechanism.attend_self(states)
    cache = mechanism.start_self(2, states)
    sizes = []
    for place in range(length):
        step, cache = mechanism.step_self(states[:, place : place + 1], cache, place)
        assert torch.allclose(step[:, 0], whole[:, place], atol=1e-10)
        sizes.append(cache.numel())
    if CASES[key].name in ("linear", "delta") or "window" in CASES[key].options:
        assert len(set(sizes[5:])) <= 1  # the cache does not grow


@pytest.mark.parametrize("key", ["linear", "delta"])
def test_padding_in_the_middle_of_many_chunks(key: str) -> None:
    mechanism, _ = self_attention(key, causal=True)
    states = torch.randn(1, 137, 11, dtype=torch.float64)
    mask = torch.ones(1, 137, dtype=torch.bool)
    mask[:, 60:71] = False
    context = mechanism.attend_self(states, mask)
    weights = mechanism.align(states, mechanism.prepare(states, mask))
    assert not weights[..., 60:71].any()
    explicit = mechanism.weight(weights, mechanism.prepare(states, mask))
    assert torch.allclose(context, explicit, atol=1e-10)
