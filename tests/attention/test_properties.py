"""Which properties each mechanism has, on random input; docs/mechanisms.md has the same table."""

import re
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from tests.attention.cases import CASES, SELVES, Case
from translate.attention import Attention, names

SUMS, HULL = "rows sum to 1", "the context lies between the values"
KEYS, QUERIES = "keys in any order", "queries in any order"

# Where a property does not hold, and why.
POSITIONS = "positions count"
EXCEPTIONS: dict[str, dict[str, str]] = {
    SUMS: {"local_p": "its Gaussian comes after the softmax", "delta": "values are corrected by later ones"},
    HULL: {"local_p": "its Gaussian comes after the softmax", "delta": "values are corrected by later ones"},
    KEYS: {
        **dict.fromkeys(["location", "fully_connected", "positional", "factorized_positional"], POSITIONS),
        "fixed": POSITIONS,
        **dict.fromkeys(["local_m", "local_p", "sliding_window", "alibi", "relative_bias"], POSITIONS),
        "delta": "later keys correct earlier ones",
    },
    QUERIES: {
        **dict.fromkeys(["positional", "factorized_positional", "local_m"], POSITIONS),
        **dict.fromkeys(["sliding_window", "alibi", "relative_bias"], POSITIONS),
        "coverage": "a query counts what those before it have read",
    },
}
HELD_BY_VARIANTS = {(SUMS, "local_p-before"), (HULL, "local_p-before")}

sizes = st.tuples(st.integers(1, 6), st.integers(1, 9), st.integers(0, 2**31 - 1))
quickly = settings(max_examples=8, deadline=None, derandomize=True)


def holds(rule: str, key: str) -> bool:
    return (rule, key) in HELD_BY_VARIANTS or CASES[key].name not in EXCEPTIONS[rule]


def those(rule: str, *, held: bool) -> list[str]:
    return [key for key in CASES if holds(rule, key) == held]


def draw(case: Case, size: tuple[int, int, int]) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, states, and a mask that hides any keys, in one sentence all of them."""
    num_queries, num_keys, seed = size
    generator = torch.Generator().manual_seed(seed)
    query = torch.randn(3, num_queries, case.sizes[0], generator=generator, dtype=torch.float64)
    states = torch.randn(3, num_keys, case.sizes[1], generator=generator, dtype=torch.float64)
    mask = torch.rand(3, num_keys, generator=generator) < 0.7
    mask[2] = False
    return query, states, mask


def both_paths(mechanism: Attention, query: Tensor, states: Tensor, mask: Tensor) -> list[Tensor]:
    memory = mechanism.prepare(states, mask)
    return [mechanism(query, memory, need_weights=wanted)[0] for wanted in (False, True)]


def sums_to_one(case: Case, size: tuple[int, int, int]) -> bool:
    query, states, mask = draw(case, size)
    mechanism = case.build()
    weights = mechanism(query, mechanism.prepare(states, mask), need_weights=True)[1]
    hidden = ~mask[:, None, None, :].expand_as(weights)
    assert not weights[hidden].any()
    total = weights.sum(-1)
    return bool((torch.minimum(total.abs(), (total - 1).abs()) < 1e-9).all())


def stays_in_the_hull(case: Case, size: tuple[int, int, int]) -> bool:
    """A point is in the hull of values if in no direction it lies further out than all of them."""
    query, states, mask = draw(case, size)
    mechanism = case.build()
    if hasattr(mechanism, "output_projection"):
        mechanism.output_projection = nn.Identity()
    memory = mechanism.prepare(states, mask)
    weights = mechanism(query, memory, need_weights=True)[1]
    groups = mechanism.num_heads // memory.values.shape[1]
    values = memory.values.repeat_interleave(groups, 1)  # (B, H, S, E)
    directions = torch.randn(values.shape[-1], 40, dtype=torch.float64)
    seen = weights.sum(-1).abs() > 1e-12  # else the context is zero, wherever the values are
    outside = []
    for context in both_paths(mechanism, query, states, mask):
        heads = context.unflatten(-1, (mechanism.num_heads, -1)).transpose(1, 2)  # (B, H, T, E)
        assert heads.shape[-1] == values.shape[-1]
        furthest = (values @ directions).masked_fill(~mask[:, None, :, None], -torch.inf).amax(2)
        outside.append((heads @ directions > furthest.unsqueeze(2) + 1e-9)[seen].any())
    return not any(outside)


def ignores_order_of_keys(case: Case, size: tuple[int, int, int]) -> bool:
    query, states, mask = draw(case, size)
    order = torch.randperm(states.shape[1], generator=torch.Generator().manual_seed(size[2]))
    mechanism = case.build()
    pairs = zip(
        both_paths(mechanism, query, states, mask),
        both_paths(mechanism, query, states[:, order], mask[:, order]),
        strict=True,
    )
    return all(torch.allclose(before, after, atol=1e-9) for before, after in pairs)


def follows_order_of_queries(case: Case, size: tuple[int, int, int]) -> bool:
    query, states, mask = draw(case, size)
    order = torch.randperm(query.shape[1], generator=torch.Generator().manual_seed(size[2]))
    mechanism = case.build()
    pairs = zip(
        both_paths(mechanism, query, states, mask),
        both_paths(mechanism, query[:, order], states, mask),
        strict=True,
    )
    return all(torch.allclose(before[:, order], after, atol=1e-9) for before, after in pairs)


CHECKS = {
    SUMS: sums_to_one,
    HULL: stays_in_the_hull,
    KEYS: ignores_order_of_keys,
    QUERIES: follows_order_of_queries,
}


@pytest.mark.parametrize(("rule", "key"), [(rule, key) for rule in CHECKS for key in those(rule, held=True)])
def test_holds(rule: str, key: str) -> None:
    @quickly
    @given(sizes)
    def run(size: tuple[int, int, int]) -> None:
        assert CHECKS[rule](CASES[key], size)

    run()


@pytest.mark.parametrize(("rule", "key"), [(rule, key) for rule in CHECKS for key in those(rule, held=False)])
def test_the_exceptions_are_exceptions(rule: str, key: str) -> None:
    assert not all(CHECKS[rule](CASES[key], (5, 7, seed)) for seed in range(5))


def test_the_documented_table_is_this_one() -> None:
    page = Path(__file__).parents[2] / "docs" / "mechanisms.md"
    rows = re.findall(r"^\| ([a-z0-9 ]+) \| all but (.+) \|$", page.read_text(encoding="utf-8"), re.MULTILINE)
    documented = {rule: set(re.findall(r"`(\w+)`", text)) for rule, text in rows}
    assert documented == {rule: set(exceptions) for rule, exceptions in EXCEPTIONS.items()}


@pytest.mark.parametrize("key", CASES)
def test_padding_of_any_length_changes_nothing(key: str) -> None:
    case, mechanism = CASES[key], CASES[key].build()

    @quickly
    @given(sizes, st.integers(1, 9))
    def run(size: tuple[int, int, int], extra: int) -> None:
        query, states, _ = draw(case, size)
        mask = torch.ones(states.shape[:2], dtype=torch.bool)
        padded = torch.cat([states, torch.full((3, extra, states.shape[2]), 9.0, dtype=torch.float64)], 1)
        hidden = torch.cat([mask, torch.zeros(3, extra, dtype=torch.bool)], 1)
        for alone, among in zip(
            both_paths(mechanism, query, states, mask),
            both_paths(mechanism, query, padded, hidden),
            strict=True,
        ):
            torch.testing.assert_close(among, alone, rtol=0, atol=1e-9)

    run()


@pytest.mark.parametrize("key", SELVES)
def test_causal_outputs_do_not_see_the_future(key: str) -> None:
    case = CASES[key]
    mechanism = Case(case.name, case.oracle, {**case.options, "causal": True}, sizes=(11, 11)).build()

    @quickly
    @given(st.integers(2, 90), st.integers(0, 2**31 - 1))
    def run(length: int, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        states = torch.randn(1, length, 11, generator=generator, dtype=torch.float64)
        changed = states.clone()
        cut = length // 2
        changed[:, cut:] += 1.0
        before, after = mechanism.attend_self(states), mechanism.attend_self(changed)
        torch.testing.assert_close(before[:, :cut], after[:, :cut], rtol=0, atol=1e-9)
        assert not torch.allclose(before[:, cut:], after[:, cut:])

    run()


def test_every_mechanism_is_asked() -> None:
    assert {
        CASES[key].name for rule in CHECKS for held in (True, False) for key in those(rule, held=held)
    } == set(names())
