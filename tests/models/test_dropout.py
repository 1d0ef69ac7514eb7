import pytest
import torch

from translate.attention.kernels.dropout import Dropout


@pytest.mark.parametrize("p", [0.1, 0.25, 0.5, 0.9])
def test_rate_and_scale(p: float) -> None:
    torch.manual_seed(0)
    found = Dropout(p).train()(torch.ones(211, 499))
    rounded = round(256 * p) / 256
    assert found.unique().tolist() == pytest.approx([0.0, 1 / (1 - rounded)])
    zeros = float((found == 0).double().mean())
    assert zeros == pytest.approx(rounded, abs=6 * (rounded * (1 - rounded) / found.numel()) ** 0.5)
    assert float(found.double().mean()) == pytest.approx(1.0, abs=0.1 * p / (1 - p))


def test_gradient_passes_where_the_value_does() -> None:
    torch.manual_seed(0)
    states = torch.randn(7, 13, 5, dtype=torch.float64, requires_grad=True)
    found = Dropout(0.3).train()(states)
    slope = torch.randn_like(found)
    found.backward(slope)
    kept = found != 0
    scale = 256 / (256 - round(256 * 0.3))
    torch.testing.assert_close(found, torch.where(kept, states * scale, 0.0))
    torch.testing.assert_close(states.grad, torch.where(kept, slope * scale, 0.0))
    assert 0 < kept.sum() < kept.numel()


@pytest.mark.parametrize("p", [0.0, 0.5])
def test_identity_in_evaluation_or_without_dropout(p: float) -> None:
    states = torch.randn(3, 5)
    dropout = Dropout(p)
    assert dropout.eval()(states) is states
    if p == 0.0:
        assert dropout.train()(states) is states


@pytest.mark.parametrize("p", [-0.1, 1.0, 1.5])
def test_impossible_rates_are_refused(p: float) -> None:
    with pytest.raises(ValueError, match="probability"):
        Dropout(p)
