import copy

import numpy as np
import pytest
import torch
from torch import nn

from translate.training.orthogonal import Orthogonal, nearly_orthogonal

SHAPES = [(4, 4), (3, 7), (9, 2), (1, 5), (48, 16)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("steps", [1, 3, 5])
def test_singular_values_go_through_the_polynomial_and_singular_vectors_stay(
    shape: tuple[int, int], steps: int
) -> None:
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(3))
    left, values, right = np.linalg.svd(matrix.double().numpy(), full_matrices=False)
    values = values / np.sqrt((values**2).sum())
    for _ in range(steps):
        values = 3.4445 * values - 4.7750 * values**3 + 2.0315 * values**5
    expected = torch.from_numpy(left * values @ right).float()
    torch.testing.assert_close(nearly_orthogonal(matrix, steps), expected, rtol=1e-4, atol=1e-5)


def test_five_steps_bring_all_singular_values_near_one() -> None:
    generator = torch.Generator().manual_seed(1)
    left, right = (torch.linalg.qr(torch.randn(20, 20, generator=generator))[0] for _ in range(2))
    matrix = left * torch.logspace(0, -1.5, 20) @ right
    values = torch.linalg.svdvals(nearly_orthogonal(matrix))
    assert values.min() > 0.6
    assert values.max() < 1.3


def test_a_gradient_of_zeros_moves_nothing() -> None:
    weight = nn.Parameter(torch.ones(3, 5))
    optimizer = Orthogonal([{"params": [weight]}], lr=0.1, momentum=0.9)
    weight.grad = torch.zeros_like(weight)
    optimizer.step()
    assert torch.equal(weight, torch.ones(3, 5))


def test_a_matrix_without_a_gradient_stays() -> None:
    one, other = nn.Parameter(torch.ones(3, 5)), nn.Parameter(torch.ones(2, 2))
    optimizer = Orthogonal([{"params": [one, other]}], lr=0.1, momentum=0.9, weight_decay=0.5)
    one.grad = torch.randn(3, 5, generator=torch.Generator().manual_seed(1))
    optimizer.step()
    assert torch.equal(other, torch.ones(2, 2))
    assert not torch.equal(one, torch.ones(3, 5))


def test_it_goes_on_from_the_state_of_torch_s_muon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.Tensor, "bfloat16", torch.Tensor.float)  # torch's Muon rounds, ours does not
    weights = [nn.Parameter(torch.ones(4, 6)) for _ in range(2)]
    theirs = torch.optim.Muon([weights[0]], lr=0.1, momentum=0.9, adjust_lr_fn="match_rms_adamw")
    ours = Orthogonal([{"params": [weights[1]]}], lr=0.3, momentum=0.5)
    gradients = torch.randn(2, 4, 6, generator=torch.Generator().manual_seed(2))
    weights[0].grad = gradients[0]
    theirs.step()
    ours.load_state_dict(copy.deepcopy(theirs.state_dict()))
    weights[1].data.copy_(weights[0].data)
    for weight, optimizer in zip(weights, (theirs, ours), strict=True):
        weight.grad = gradients[1]
        optimizer.step()
    torch.testing.assert_close(weights[1], weights[0], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("lr", -1.0),
        ("weight_decay", -0.1),
        ("momentum", 1.0),
        ("momentum", -0.1),
        ("ns_steps", 0),
        ("ns_steps", 21),
    ],
)
def test_a_value_out_of_its_range_is_refused(setting: str, value: float) -> None:
    settings = {"lr": 0.1, "momentum": 0.9, setting: value}
    with pytest.raises(ValueError, match=f"^{setting}={value}: expected"):
        Orthogonal([{"params": [nn.Parameter(torch.ones(2, 2))]}], **settings)  # type: ignore[arg-type]
