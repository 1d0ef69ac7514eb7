"""Linear layers in 8 bits."""

import pytest
import torch
from torch import nn

from tests.tiny_models import BACKENDS, tiny_model
from translate.models.int8 import Int8Linear, quantise


@pytest.mark.skipif("fbgemm" not in torch.backends.quantized.supported_engines, reason="torch has no fbgemm")
@pytest.mark.parametrize("backend", BACKENDS)
def test_every_layer_is_rounded_and_the_scores_too(backend: str) -> None:
    model = tiny_model(backend, torch.float32)
    source, target_in = torch.randint(4, 9, (2, 5)), torch.randint(4, 9, (2, 3))
    hidden = model(source, None, target_in)
    exact = model.logits(hidden)
    quantise(model)
    assert not [module for module in model.modules() if type(module) is nn.Linear]
    rounded = model.logits(hidden)
    torch.testing.assert_close(rounded, Int8Linear(model.output_weight, model.output_bias)(hidden))
    assert not torch.equal(rounded, exact)
    torch.testing.assert_close(rounded, exact, rtol=0.1, atol=0.1 * exact.abs().max().item())
