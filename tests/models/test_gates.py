"""Gates against plain loops in float64, forward and gradients, and what padding does to them."""

import pytest
import torch
from torch import Tensor

from translate.models.image_grid import GATES, ChannelGate, CombinedGate, SpatialGate, create_gate

B, D, R, C = 2, 5, 3, 4


def loop_channel(gate: ChannelGate, grid: Tensor, inside: Tensor) -> Tensor:
    weights = []
    for picture, seen in zip(grid, inside[:, 0]):
        cells = picture[:, seen]  # (D, cells)
        summaries = [cells.mean(1), cells.max(1).values][: 1 + gate.maximum]
        hidden = [torch.relu(gate.squeeze.weight @ each + gate.squeeze.bias) for each in summaries]
        weights.append(torch.sigmoid(torch.stack([gate.excite(each) for each in hidden]).sum(0)))
    return torch.stack(weights)


def loop_spatial(gate: SpatialGate, grid: Tensor, inside: Tensor) -> Tensor:
    kernel, bias = gate.convolution.weight[0], gate.convolution.bias[0]
    gated = torch.zeros_like(grid)
    for b, y, x in inside[:, 0].nonzero().tolist():
        energy = bias
        for i, j in inside[b, 0].nonzero().tolist():
            if max(abs(i - y), abs(j - x)) <= 3:
                both = torch.stack([grid[b, :, i, j].mean(), grid[b, :, i, j].max()])
                energy = energy + kernel[:, i - y + 3, j - x + 3] @ both
        gated[b, :, y, x] = grid[b, :, y, x] * torch.sigmoid(energy)
    return gated


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
