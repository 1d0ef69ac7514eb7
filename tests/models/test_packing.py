"""Weights laid out for a CPU's products: the same numbers, the same state."""

import copy
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
import torch
from torch import nn

import translate
from tests.tiny_models import BACKENDS, tiny_model
from translate.models.packing import CopiedLinear, can_pack, pack, store_by_columns
from translate.models.rounding import round_to_bfloat16
from translate.runs.runtime import search_work
from translate.training.weights import model_tensors

PACKS = can_pack()


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


@pytest.fixture
def onednn() -> Iterator[None]:
    """Products in float32 by oneDNN, as commands let them be where that is faster."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    yield
    torch.set_float32_matmul_precision(before)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.usefixtures("onednn")
def test_packed_weights_are_the_same_numbers(backend: str) -> None:
    model = tiny_model(backend).float().eval()
    source, target_in = torch.randint(4, 9, (2, 5)), torch.randint(4, 9, (2, 3))
    expected = model.logits(model(source, None, target_in))
    store_by_columns(model)
    work = search_work(model)
    pack(model)
    assert search_work(model) == work
    layers = [module for module in model.modules() if isinstance(module, CopiedLinear)]
    assert layers
    assert not [module for module in model.modules() if type(module) is nn.Linear]
    if PACKS:
        assert all(layer._packed is not None and layer._unpacked is None for layer in layers)
    with torch.no_grad():
        found = model.logits(model(source, None, target_in))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    # With gradients, as alignment by gradients needs them, the layers multiply by their weights in order.
    torch.testing.assert_close(model.logits(model(source, None, target_in)), expected, rtol=1e-4, atol=1e-5)


def test_a_packed_layer_rectifies_has_gradients_and_can_be_copied() -> None:
    weight, bias = torch.randn(7, 5), torch.randn(7)
    layer, states = CopiedLinear(weight, bias), torch.randn(4, 3, 5)
    if PACKS:
        layer.pack()
    expected = states @ weight.t() + bias
    for each in (layer, copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        torch.testing.assert_close(each(states), expected)
        torch.testing.assert_close(each.rectified(states), expected.clamp_min(0))
        assert torch.equal(each.weight, weight)
    given = states.clone().requires_grad_()
    layer.rectified(given).sum().backward()
    torch.testing.assert_close(given.grad, (expected > 0).float() @ weight)


def test_float32_stays_as_it_is_where_mkl_multiplies() -> None:
    torch.set_float32_matmul_precision("highest")
    model = tiny_model("transformer").float().eval()
    store_by_columns(model)
    pack(model)
    assert isinstance(model.output_layer, CopiedLinear)
    assert model.output_layer._packed is None
    assert any(type(module) is nn.Linear for module in model.modules())


@pytest.mark.skipif(not torch.ops.mkldnn._is_mkldnn_bf16_supported(), reason="no bfloat16 in oneDNN here")
def test_bfloat16_is_packed_whatever_multiplies_float32() -> None:
    model = tiny_model("transformer").float().eval()
    round_to_bfloat16(model)
    source, target_in = torch.randint(4, 9, (2, 5)), torch.randint(4, 9, (2, 3))
    with torch.no_grad():
        expected = model.logits(model(source, None, target_in))
        pack(model)
        found = model.logits(model(source, None, target_in))
    assert cast(CopiedLinear, model.output_layer)._packed is not None
    torch.testing.assert_close(found, expected, rtol=0.02, atol=0.02)
