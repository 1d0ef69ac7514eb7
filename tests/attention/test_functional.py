"""The softmax of rows narrower than a register of the processor, against float64."""

import pytest
import torch

from translate.attention.functional import WORTH_PADDING, masked_softmax, softmax

TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-6, torch.bfloat16: 1e-2}


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("width", [1, 2, 7, 8, 13, 16, 17, 31, 32, 33])
@pytest.mark.parametrize("rows", [3, WORTH_PADDING])
def test_narrow_rows_and_their_gradient(dtype: torch.dtype, width: int, rows: int) -> None:
    scores = (4 * torch.randn(rows, width, dtype=torch.float64)).to(dtype)
    outer = torch.randn(rows, width, dtype=torch.float64).to(dtype)
    given, exact = scores.clone().requires_grad_(), scores.double().requires_grad_()
    found, expected = softmax(given), exact.exp() / exact.exp().sum(1, keepdim=True)
    (found * outer).sum().backward()
    (expected * outer.double()).sum().backward()
    tolerance = TOLERANCE[dtype]
    torch.testing.assert_close(found.double(), expected, rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(given.grad.double(), exact.grad, rtol=4 * tolerance, atol=4 * tolerance)


@pytest.mark.parametrize("width", [5, 20])
def test_hidden_keys_get_nothing_whatever_the_width(width: int) -> None:
    scores = torch.randn(WORTH_PADDING, width)
    visible = torch.rand(WORTH_PADDING, width) < 0.5
    visible[0] = False
    weights = masked_softmax(scores, visible)
    assert not weights[~visible].any()
    assert not weights[0].any()
    some = visible.any(1)
    torch.testing.assert_close(weights.sum(1)[some], torch.ones(int(some.sum())))
