"""Linear layers of fewer bits."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from tests.tiny_models import BACKENDS, tiny_model
from translate.attention.kernels.linear import Bfloat16Linear, Int8Linear

NO_INT8 = pytest.mark.skipif(torch.backends.quantized.engine == "none", reason="torch has no int8")
KINDS = [pytest.param(Int8Linear, 0.1, marks=NO_INT8), (Bfloat16Linear, 0.02)]


@pytest.mark.parametrize(("layer", "tolerance"), KINDS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_every_layer_is_rounded_and_the_scores_too(
    backend: str, layer: Callable[[Tensor, Tensor | None], nn.Module], tolerance: float
) -> None:
    model = tiny_model(backend, torch.float32)
    source, target_in = torch.randint(4, 9, (2, 5)), torch.randint(4, 9, (2, 3))
    hidden = model(source, None, target_in)
    exact = model.logits(hidden)
    model.replace_products(layer)
    assert not [module for module in model.modules() if type(module) is nn.Linear]
    rounded = model.logits(hidden)
    assert rounded.dtype == torch.float32
    torch.testing.assert_close(rounded, layer(model.output_weight, model.output_bias)(hidden))
    assert not torch.equal(rounded, exact)
    torch.testing.assert_close(rounded, exact, rtol=tolerance, atol=tolerance * exact.abs().max().item())


def test_a_product_in_bfloat16_rounds_its_factors_and_its_sum_alone() -> None:
    weight, bias, states = torch.randn(7, 300), torch.randn(7), torch.randn(5, 300)
    factors = weight.bfloat16().double(), states.bfloat16().double()
    exact = factors[1] @ factors[0].T + bias.bfloat16().double()
    found = Bfloat16Linear(weight, bias)(states)
    torch.testing.assert_close(found.double(), exact, rtol=2**-8, atol=2**-8)
