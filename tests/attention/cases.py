"""Every mechanism with odd sizes, and its oracle. A new mechanism needs one entry in ``CASES``."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tests.attention import oracles
from translate.attention import Attention, MultiHead, ScaledDot, create, mechanisms

BATCH, SOURCE, TARGET = 3, 7, 5
QUERY_SIZE, KEY_SIZE = 11, 13
THREE_HEADS = {"num_heads": 3, "attention_size": 15}


@dataclass(frozen=True)
class Case:
    """A mechanism, its options, and its oracle; ``sizes`` are query_size and key_size."""

    name: str
    oracle: Callable[..., oracles.Result]
    options: dict[str, Any] = field(default_factory=dict)
    given: dict[str, Any] = field(default_factory=dict)  # arguments of the oracle beside the options
    sizes: tuple[int, int] = (QUERY_SIZE, KEY_SIZE)

    def build(self, dtype: torch.dtype = torch.float64) -> Attention:
        """With parameters that differ from zero and from each other, also where they start as zero."""
        torch.manual_seed(5)
        mechanism = create(self.name, query_size=self.sizes[0], key_size=self.sizes[1], **self.options)
        with torch.no_grad():
            for parameter in mechanism.parameters():
                parameter.copy_(torch.randn(parameter.shape) * 0.5)
        return mechanism.to(dtype)

    def expected(self, mechanism: Attention, query: Tensor, states: Tensor, mask: Tensor) -> oracles.Result:
        parameters = {name: p.detach().double().numpy() for name, p in mechanism.named_parameters()}
        oracle = partial(self.oracle, **{**self.options, **self.given})
        if self.name == "relative_bias":
            bias = oracles.relative_bias(
                parameters, self.options["num_buckets"], self.options["max_distance"], causal=mechanism.causal
            )
            oracle = partial(oracle, bias=bias)
        found = [
            oracle(parameters, query[b].double().numpy(), states[b].double().numpy(), mask[b].tolist())
            for b in range(len(query))
        ]
        return np.stack([weights for weights, _ in found]), np.stack([context for _, context in found])


def case(
    name: str, oracle: Callable[..., oracles.Result], given: Any = None, sizes: Any = None, **options: Any
) -> Case:
    return Case(name, oracle, options, given or {}, sizes or (QUERY_SIZE, KEY_SIZE))


CASES: dict[str, Case] = {
    "additive": case("additive", oracles.additive, attention_size=17),
    "additive-explicit": case("additive", oracles.additive, attention_size=17, kernel="explicit"),
    "concat": case("concat", oracles.additive),
    "coverage": case("coverage", oracles.coverage, attention_size=17, max_fertility=1.5),
    "hierarchical": case("hierarchical", oracles.hierarchical, attention_size=17),
    "two_sources": case("two_sources", oracles.two_sources, attention_size=17),
    "dot": case("dot", oracles.plain_dot, sizes=(11, 11)),
    "self_dot": case("self_dot", oracles.plain_dot, sizes=(11, 11)),
    "general": case("general", oracles.general),
    "fixed": case("fixed", oracles.fixed),
    "location": case("location", oracles.location, max_length=11),
    "location-short": case("location", oracles.location, max_length=5),
    "fully_connected": case("fully_connected", oracles.location, max_length=11),
    "fully_connected-short": case("fully_connected", oracles.location, max_length=5),
    "positional": case("positional", oracles.positional, max_length=11),
    "positional-short": case("positional", oracles.positional, max_length=3),
    "factorized_positional": case(
        "factorized_positional", oracles.factorized_positional, max_length=11, rank=3
    ),
    "local_m": case("local_m", oracles.local_m, window=2),
    "local_p": case("local_p", oracles.local_p, window=3, gaussian="after"),
    "local_p-before": case("local_p", oracles.local_p, window=3, gaussian="before"),
    "scaled_dot": case("scaled_dot", oracles.multi_head, attention_size=17),
    "self_qkv": case("self_qkv", oracles.multi_head),
    "multi_head": case("multi_head", oracles.multi_head, **THREE_HEADS),
    "multi_head-no-bias": case(
        "multi_head", oracles.multi_head, bias=False, given={"bias": None}, **THREE_HEADS
    ),
    "multi_query": case(
        "multi_head", oracles.multi_head, num_key_value_heads=1, given={"groups": 3}, **THREE_HEADS
    ),
    "grouped_query": case(
        "grouped_query",
        oracles.multi_head,
        num_heads=4,
        num_key_value_heads=2,
        attention_size=20,
        given={"groups": 2},
    ),
    "sliding_window": case("sliding_window", oracles.multi_head, window=2, **THREE_HEADS),
    "alibi": case("alibi", oracles.multi_head, given={"bias": oracles.alibi_bias(3)}, **THREE_HEADS),
    "alibi-power": case(
        "alibi", oracles.multi_head, given={"bias": oracles.alibi_bias(4)}, num_heads=4, attention_size=20
    ),
    "relative_bias": case("relative_bias", oracles.multi_head, num_buckets=6, max_distance=7, **THREE_HEADS),
    # Options compose.
    "alibi-window": case(
        "alibi", oracles.multi_head, given={"bias": oracles.alibi_bias(3)}, window=3, **THREE_HEADS
    ),
    "relative_bias-window-grouped": case(
        "relative_bias",
        oracles.multi_head,
        num_buckets=6,
        max_distance=7,
        window=2,
        num_key_value_heads=1,
        given={"groups": 3},
        **THREE_HEADS,
    ),
    "linear": case("linear", oracles.linear, **THREE_HEADS),
    "delta": case("delta", oracles.delta, **THREE_HEADS),
}


def missing_oracles() -> list[str]:
    """One line for every registered mechanism without a case."""
    tested = {case.name for case in CASES.values()}
    return [
        f"no oracle for {name}: add it to tests/attention/cases.py"
        for name in sorted(mechanisms().keys() - tested)
    ]


def attends_within(name: str) -> bool:
    """Whether a mechanism also attends within a sequence, as ``model/self_attention``."""
    mechanism = mechanisms()[name]
    return issubclass(mechanism, MultiHead) and not issubclass(mechanism, ScaledDot)


SELVES = [key for key, case in CASES.items() if attends_within(case.name)]


def inputs(
    case: Case, dtype: torch.dtype = torch.float64, *, num_queries: int = TARGET, num_keys: int = SOURCE
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries (3, T, Q), states (3, S, K), and a mask: all, some, none visible."""
    torch.manual_seed(7)
    query = torch.randn(BATCH, num_queries, case.sizes[0], dtype=torch.float64).to(dtype)
    states = torch.randn(BATCH, num_keys, case.sizes[1], dtype=torch.float64).to(dtype)
    mask = torch.ones(BATCH, num_keys, dtype=torch.bool)
    mask[1, max(1, num_keys // 2) :] = False
    mask[2] = False
    return query, states, mask
