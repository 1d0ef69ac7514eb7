"""Weights stored column by column: the same numbers, the same state."""

from pathlib import Path

import pytest
import torch
from torch import nn

import translate
from tests.tiny_models import BACKENDS, tiny_model
from translate.models.columns import CopiedLinear, store_by_columns
from translate.training.weights import model_tensors


@pytest.mark.parametrize("backend", BACKENDS)
def test_nothing_but_the_order_in_memory_changes(backend: str) -> None:
    model = tiny_model(backend).double().eval()
    source, target_in = torch.randint(4, 9, (2, 5)), torch.randint(4, 9, (2, 3))
    before = {name: tensor.clone() for name, tensor in model_tensors(model).items()}
    expected = model.logits(model(source, None, target_in))
    store_by_columns(model)
    torch.testing.assert_close(model.logits(model(source, None, target_in)), expected, rtol=0, atol=1e-12)
    after = model_tensors(model)
    assert after.keys() == before.keys()
    assert all(torch.equal(after[name], tensor) for name, tensor in before.items())
    linear = [module for module in model.modules() if type(module) in (nn.Linear, CopiedLinear)]
    assert linear
    assert all(module.weight.t().is_contiguous() for module in linear)
    assert model.output_weight.is_contiguous()


def test_a_run_on_a_cpu_is_loaded_so(tiny_runs: dict[str, Path]) -> None:
    run = tiny_runs["rnn_luong"]
    assert isinstance(translate.load(run, device="cpu").model.output_layer, CopiedLinear)
    plain = translate.load(run, device="cpu", as_trained=True).model
    assert plain.output_layer is None
    assert all(parameter.is_contiguous() for parameter in plain.parameters())
