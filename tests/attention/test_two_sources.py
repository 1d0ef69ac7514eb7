"""Two attentions and a gate against plain loops, with patches and words in one memory."""

import numpy as np
import pytest
import torch

from tests.attention import oracles
from tests.attention.cases import CASES, inputs
from translate.attention.memory import SourceParts

PICTURES = [
    [True, True, True, False, False, False, False],
    [True, False, True, False, True, False, False],
    [True, True, True, True, True, True, True],
]


@pytest.fixture
def case():
    return CASES["two_sources"]


def test_patches_and_words_share_each_row_by_the_gate(case):
    mechanism, (query, states, mask) = case.build(), inputs(case)
    mask[2] = True
    pictures = torch.tensor(PICTURES)
    context, weights = mechanism(
        query, mechanism.prepare_parts(states, mask, SourceParts(pictures)), need_weights=True
    )
    parameters = {name: p.detach().numpy() for name, p in mechanism.named_parameters()}
    for b in range(len(query)):
        wanted = oracles.two_sources(
            parameters, query[b].numpy(), states[b].numpy(), mask[b].tolist(), PICTURES[b]
        )
        np.testing.assert_allclose(weights[b].detach().numpy(), wanted[0], atol=1e-10)
        np.testing.assert_allclose(context[b].detach().numpy(), wanted[1], atol=1e-10)
    torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights.sum(-1)))
    shares = (weights[:, 0] * pictures[:, None]).sum(-1)
    assert ((shares[0] > 0.001) & (shares[0] < 0.999)).all()
    assert shares[0].std() > 0.01  # the gate depends on the query
    torch.testing.assert_close(shares[2], torch.ones_like(shares[2]))  # there are no words
