"""The weighted sum of the transformed values is the context."""

import pytest
import torch

from tests.attention.cases import CASES, inputs


@pytest.mark.parametrize("name", CASES)
def test_weights_times_transformed_values_are_the_context(name: str) -> None:
    case = CASES[name]
    mechanism = case.build()
    query, states, mask = inputs(case)
    memory = mechanism.prepare(states, mask)
    with torch.no_grad():
        context, weights = mechanism(query, memory, need_weights=True)
        values = mechanism.transformed_values(memory)
        assert values.shape == (len(query), mechanism.num_heads, states.shape[1], mechanism.context_size)
        nothing = mechanism.weight(torch.zeros_like(weights), memory)  # the bias of the merge
    added = sum(weights[:, head] @ values[:, head] for head in range(mechanism.num_heads))
    torch.testing.assert_close(nothing + added, context, rtol=1e-6, atol=1e-6)
