from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tests.tiny_models import tiny_model
from translate.config.targets import check_target
from translate.errors import UserError
from translate.models import Seq2Seq
from translate.training.optimizer import Muon, nearly_orthogonal, parameter_groups


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


# The half of Muon that steps matrices.


def muon(*weights: nn.Parameter, **options: float) -> Muon:
    settings: dict[str, Any] = {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.0, "ns_steps": 5, **options}
    return Muon([{"params": list(weights), "muon": True}], **settings)


SHAPES = [(4, 4), (3, 7), (9, 2), (1, 5), (48, 16)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("steps", [1, 3, 5])
@pytest.mark.parametrize(("instructions", "error"), [(None, 1e-5), ("AVX-512", 0.05)])
def test_singular_values_go_through_the_polynomial_and_singular_vectors_stay(
    monkeypatch: pytest.MonkeyPatch,
    shape: tuple[int, int],
    steps: int,
    instructions: str | None,
    error: float,
) -> None:
    monkeypatch.setattr("translate.training.optimizer.bfloat16_instructions", lambda: instructions)
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(3))
    left, values, right = np.linalg.svd(matrix.double().numpy(), full_matrices=False)
    values = values / np.sqrt((values**2).sum())
    for _ in range(steps):
        values = 3.4445 * values - 4.7750 * values**3 + 2.0315 * values**5
    expected = torch.from_numpy(left * values @ right).float()
    torch.testing.assert_close(nearly_orthogonal(matrix, steps), expected, rtol=error, atol=error)
    both = nearly_orthogonal(torch.stack([matrix, -3 * matrix]), steps)
    torch.testing.assert_close(both, torch.stack([expected, -expected]), rtol=error, atol=error)


def test_matrices_of_a_shape_step_together_as_they_do_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translate.training.optimizer.bfloat16_instructions", lambda: None)
    found = []
    for together in (False, True):
        monkeypatch.setattr("translate.training.optimizer.whole_here", lambda matrix, it=together: it)
        torch.manual_seed(2)
        weights = [nn.Parameter(torch.randn(shape)) for shape in ((3, 5), (4, 2), (3, 5), (3, 5), (5, 3))]
        optimizer = muon(*weights, weight_decay=0.1)
        for step in range(3):
            for number, weight in enumerate(weights):
                weight.grad = None if (step, number) == (1, 2) else torch.randn(weight.shape)
            optimizer.step()
        found.append(weights)
    torch.testing.assert_close(found[0], found[1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("setting", "value"), [("lr", -1.0), ("weight_decay", -0.1), ("momentum", 1.0), ("ns_steps", 0)]
)
def test_a_value_out_of_its_range_is_refused(setting: str, value: float) -> None:
    node = {"_target_": "translate.training.optimizer.Muon", setting: value}
    with pytest.raises(UserError, match=f"^optimizer.{setting}: expected .*, got {value}"):
        check_target(node, "optimizer", (), ("params",))
