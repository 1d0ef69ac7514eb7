"""Each backend trains, searches and aligns as if on a GPU: it computes the same, and waits where it must."""

from collections import Counter

import pytest
import torch

pytest.importorskip("torch.utils._python_dispatch", reason="a torch without this way to pretend a device")

from tests.tiny_models import BACKENDS
from tests.tools.fake_cuda import (
    CPU,
    CUDA,
    MIXED,
    WAIT,
    Finding,
    StandIn,
    aligned,
    corpus,
    phases,
    pretended,
    small,
    take_steps,
    to_gpu,
    translated,
)
from translate.config.search import SearchConfig
from translate.corpora.batching import collate
from translate.training.losses import LossTerms

# The files in which a training step waits, and how often: once to know that its gradient is finite, and once
# for the lengths of an RNN's sentences.
WAITS = {
    "bahdanau": {"training/update.py": 1, "models/encoders.py": 1},
    "luong": {"training/update.py": 1, "models/encoders.py": 1},
    "transformer": {"training/update.py": 1},
}


def kinds(found: Counter[Finding]) -> set[str]:
    return {finding.kind for finding in found}


def test_what_a_gpu_refuses_or_waits_for_is_found() -> None:
    with pretended() as found:
        there, here = torch.ones(3, device="cuda"), torch.ones(3)
        assert (there.device, here.device) == (CUDA, CPU)
        assert (there * 2 + there.sum()).device == CUDA
        assert not found
        there + here
        assert kinds(found) == {MIXED}
        found.clear()
        for waits in (lambda: there.sum().item(), lambda: there[there > 0], lambda: bool(there.any())):
            waits()
            assert kinds(found) == {WAIT}
            found.clear()
        assert there.tolist() == [1.0, 1.0, 1.0]
        assert kinds(found) == {WAIT}
    assert not isinstance(torch.ones(3) + 1, StandIn)  # outside nothing is pretended


def test_shared_weights_stay_shared() -> None:
    model = small("luong-deep")
    with pretended():
        moved = to_gpu(model)
        assert moved.output_weight is moved.target_embedding.weight
        assert isinstance(moved.output_weight, StandIn)


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_computed_is_what_a_cpu_computes(backend: str) -> None:
    config = SearchConfig(beam_size=3, max_length_extra=6, max_length_ratio=1.0)
    batch = collate(corpus(), list(range(7)))
    model = small(backend)
    for module in model.modules():  # the two devices draw other masks
        if hasattr(module, "p"):
            setattr(module, "p", 0.0)  # noqa: B010 (mypy knows no attribute of that name)
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    loss = take_steps(model, [batch, batch], torch.float32, LossTerms())
    texts, weights = translated(model.eval(), CPU, config), aligned(model, "attention")
    model.load_state_dict(state)
    with pretended() as found:
        there = to_gpu(model)
        other_loss = take_steps(there, [batch, batch], torch.float32, LossTerms())
        assert other_loss.device == CUDA
        assert other_loss.item() == pytest.approx(loss.item(), rel=1e-5)
        other_texts, other_weights = translated(there.eval(), CUDA, config), aligned(there, "attention")
    assert other_texts == texts
    for mine, other in zip(weights, other_weights, strict=True):
        assert mine == pytest.approx(other, abs=1e-4)
    assert MIXED not in kinds(found)


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_in_bfloat16_nothing_is_on_two_devices_and_a_step_waits_where_it_must(backend: str) -> None:
    for name, found in phases(backend, torch.bfloat16):
        assert MIXED not in kinds(found), name
        if name == "2 steps":
            waits: Counter[str] = Counter()
            for finding, times in found.items():
                if finding.kind == WAIT:
                    waits[finding.place.split(":")[0]] += times
            assert waits == {place: 2 * times for place, times in WAITS[backend].items()}
