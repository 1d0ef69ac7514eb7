"""Gates against plain loops in float64, forward and gradients, and what padding does to them."""

import pytest
import torch
from torch import Tensor

from translate.models.image_grid import GATES, ChannelGate, CombinedGate, SpatialGate, create_gate

B, D, R, C = 2, 5, 3, 4


def loop_channel(gate: ChannelGate, grid: Tensor, inside: Tensor) -> Tensor:
    weights = []
    for picture, seen in zip(grid, inside[:, 0]):
        cells = [(r, c) for r in range(R) for c in range(C) if seen[r, c]]
        summaries = [[sum(picture[d, r, c] for r, c in cells) / len(cells) for d in range(D)]]
        if gate.maximum:
            summaries.append(
                [max((picture[d, r, c] for r, c in cells), key=lambda each: each.item()) for d in range(D)]
            )
        energy = [gate.excite.bias[d] * 0 for d in range(D)]
        for summary in summaries:
            hidden = [
                torch.relu(sum(w * x for w, x in zip(row, summary)) + b)
                for row, b in zip(gate.squeeze.weight, gate.squeeze.bias)
            ]
            for d in range(D):
                energy[d] = energy[d] + gate.excite.bias[d]
                energy[d] = energy[d] + sum(w * x for w, x in zip(gate.excite.weight[d], hidden))
        weights.append(torch.stack([1 / (1 + torch.exp(-each)) for each in energy]))
    return torch.stack(weights)


def loop_spatial(gate: SpatialGate, grid: Tensor, inside: Tensor) -> Tensor:
    kernel, bias = gate.convolution.weight[0], gate.convolution.bias[0]
    rows = []
    for picture, seen in zip(grid, inside[:, 0]):
        for r in range(R):
            for c in range(C):
                energy = bias
                for i in range(-3, 4):
                    for j in range(-3, 4):
                        y, x = r + i, c + j
                        if 0 <= y < R and 0 <= x < C and seen[y, x]:
                            mean = sum(picture[:, y, x]) / D
                            most = max(picture[:, y, x], key=lambda each: each.item())
                            energy = energy + kernel[0, i + 3, j + 3] * mean + kernel[1, i + 3, j + 3] * most
                weight = 1 / (1 + torch.exp(-energy))
                rows.append(weight * picture[:, r, c] * float(seen[r, c]))
    return torch.stack(rows).view(len(grid), R, C, D).permute(0, 3, 1, 2)


def oracle(gate, grid, inside):
    if isinstance(gate, CombinedGate):
        return loop_spatial(gate.spatial, oracle(gate.channel, grid, inside), inside)
    if isinstance(gate, ChannelGate):
        return grid * loop_channel(gate, grid, inside)[:, :, None, None]
    return loop_spatial(gate, grid, inside)


@pytest.fixture(params=sorted(GATES))
def gate(request):
    torch.manual_seed(7)
    return create_gate(request.param, D).double()


@pytest.fixture
def picture():
    torch.manual_seed(3)
    inside = torch.ones(B, 1, R, C, dtype=torch.bool)
    inside[1, :, 2:] = False
    inside[1, :, :, 3:] = False
    return torch.randn(B, D, R, C, dtype=torch.float64) * inside, inside


def test_the_loops_agree_forward_and_backward(gate, picture):
    grid, inside = picture
    found = []
    for function in (gate, lambda *args: oracle(gate, *args)):
        gate.zero_grad()
        given = grid.clone().requires_grad_()
        out = function(given, inside)
        (out * torch.linspace(-1, 1, out.numel(), dtype=torch.float64).view_as(out)).sum().backward()
        found.append([out, given.grad, *(parameter.grad.clone() for parameter in gate.parameters())])
    for ours, wanted in zip(*found, strict=True):
        assert ours.abs().sum() > 0
        torch.testing.assert_close(ours, wanted, rtol=1e-9, atol=1e-11)


def test_padding_changes_nothing(gate, picture):
    grid, inside = picture
    wide = torch.nn.functional.pad(grid, (0, 2, 0, 1))
    seen = torch.nn.functional.pad(inside, (0, 2, 0, 1))
    torch.testing.assert_close(gate(wide, seen)[:, :, :R, :C], gate(grid, inside))


def test_a_source_without_picture_is_finite_with_finite_gradients(gate, picture):
    grid = picture[0].clone().requires_grad_()
    out = gate(grid, torch.zeros_like(picture[1]))
    out.sum().backward()
    assert torch.isfinite(out).all()
    assert torch.isfinite(grid.grad).all()


def test_an_unknown_gate_is_refused():
    assert create_gate("none", D) is None
    with pytest.raises(ValueError, match="expected one of none, channel, spatial, combined, got 'sofa'"):
        create_gate("sofa", D)
