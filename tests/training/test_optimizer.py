import subprocess
import sys

import pytest
import torch
from torch import nn

from tests.tiny_models import tiny_model
from translate.models import Seq2Seq
from translate.training.optimizer import Muon, parameter_groups


def gradients(model: nn.Module, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)


@pytest.mark.parametrize("name", ["bahdanau", "transformer"])
def test_matrices_go_by_torch_s_muon_and_the_rest_by_its_adamw(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.Tensor, "bfloat16", torch.Tensor.float)  # torch's Muon rounds, ours does not
    ours, theirs = (tiny_model(name, torch.float32) for _ in range(2))
    optimizer = Muon(Muon.parameter_groups(ours, 0.1), lr=0.01, momentum=0.9, betas=(0.8, 0.9), eps=1e-7)
    embedded = {id(each.weight) for each in theirs.modules() if isinstance(each, nn.Embedding)}
    kinds: dict[str, list[nn.Parameter]] = {"matrix": [], "output": [], "rest": []}
    for parameter in theirs.parameters():
        if parameter.dim() < 2 or id(parameter) in embedded:
            kinds["rest"].append(parameter)
        else:
            kinds["output" if parameter is theirs.output_weight else "matrix"].append(parameter)
    adamw = [{"params": kinds["output"], "weight_decay": 0.1}, {"params": kinds["rest"], "weight_decay": 0.0}]
    oracles = [
        torch.optim.Muon(
            kinds["matrix"], lr=0.01, momentum=0.9, weight_decay=0.1, adjust_lr_fn="match_rms_adamw"
        ),
        torch.optim.AdamW([each for each in adamw if each["params"]], lr=0.01, betas=(0.8, 0.9), eps=1e-7),
    ]
    for step in range(3):
        for model in (ours, theirs):
            gradients(model, step)
        for group in [*optimizer.param_groups, *(g for each in oracles for g in each.param_groups)]:
            group["lr"] = 0.01 / (step + 1)  # as a schedule does
        optimizer.step()
        for each in oracles:
            each.step()
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-6)


def test_it_goes_on_from_its_state() -> None:
    def build() -> tuple[Seq2Seq, Muon]:
        model = tiny_model("luong", torch.float32)
        return model, Muon(Muon.parameter_groups(model, 0.1), lr=0.01)

    (whole, first), (parts, before) = build(), build()
    for step in range(4):
        gradients(whole, step)
        first.step()
    for step in range(2):
        gradients(parts, step)
        before.step()
    after = Muon(Muon.parameter_groups(parts, 0.1), lr=0.01)
    after.load_state_dict(before.state_dict())
    for step in range(2, 4):
        gradients(parts, step)
        after.step()
    for mine, other in zip(whole.parameters(), parts.parameters(), strict=True):
        assert torch.equal(mine, other)


@pytest.mark.parametrize("name", ["transformer", "transformer-post", "bahdanau", "luong"])
def test_matrices_decay_and_vectors_and_embeddings_do_not(name: str) -> None:
    model: Seq2Seq = tiny_model(name)
    decayed, kept = (group["params"] for group in parameter_groups(model, 0.3))
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    assert sorted(names[id(each)] for each in [*decayed, *kept]) == sorted(names.values())
    embeddings = [id(each.weight) for each in model.modules() if isinstance(each, nn.Embedding)]
    for parameter in decayed:
        assert parameter.dim() >= 2
        assert id(parameter) not in embeddings
    for parameter in kept:
        assert parameter.dim() == 1 or id(parameter) in embeddings
    # an output matrix of its own is a matrix like any other
    assert (id(model.output_weight) in map(id, decayed)) == (id(model.output_weight) not in embeddings)


def test_the_groups_carry_their_decay_and_frozen_parameters_none() -> None:
    model = nn.Sequential(nn.Linear(3, 5), nn.Linear(5, 7))
    model[0].requires_grad_(False)
    groups = parameter_groups(model, 0.3)
    assert [(group["weight_decay"], [p.shape for p in group["params"]]) for group in groups] == [
        (0.3, [(7, 5)]),
        (0.0, [(7,)]),
    ]
    assert len(parameter_groups(nn.LayerNorm(3), 0.3)) == 1  # torch refuses an empty group


def test_an_optimizer_is_made_without_torch_s_compiler() -> None:
    program = """
import sys, torch
from translate.training.optimizer import do_without_compiler
before = "torch._dynamo" in sys.modules
do_without_compiler()
weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.Adam([{"params": [weight]}], lr=0.5)
optimizer.zero_grad()
optimizer.load_state_dict(optimizer.state_dict())
print(before, "torch._dynamo" in sys.modules)
weight.grad = torch.ones(3)
optimizer.step()
print(round(float(weight.sum()), 4))
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout == "False False\n1.5\n"
