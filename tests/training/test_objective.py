from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from translate.training import losses
from translate.training.losses import cross_entropy

TOKENS, WIDTH, VOCABULARY = 53, 7, 31


def inputs(
    *, biased: bool, tokens: int = TOKENS, vocabulary: int = VOCABULARY
) -> tuple[list[Tensor], Tensor]:
    generator = torch.Generator().manual_seed(5)
    shapes = [(tokens, WIDTH), (vocabulary, WIDTH), (vocabulary,)][: 3 if biased else 2]
    leaves = [
        torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_() for shape in shapes
    ]
    return leaves, torch.randint(0, vocabulary, (tokens,), generator=generator)


def expected(leaves: list[Tensor], targets: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    scores = F.linear(*leaves)
    total = F.cross_entropy(scores, targets, reduction="sum", label_smoothing=smoothing)
    return total, F.cross_entropy(scores, targets, reduction="sum")


def found(leaves: list[Tensor], targets: Tensor, smoothing: float) -> Any:
    bias = leaves[2] if len(leaves) == 3 else None
    return cross_entropy(leaves[0], leaves[1], bias, targets, label_smoothing=smoothing)


@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.37])
# rows a chunk: at least the width, so several with a short last one; 53: exactly one; 52: one token left over
@pytest.mark.parametrize("rows", [1, 17, 52, 53, 1000])
def test_equals_torch_forward_and_backward(
    monkeypatch: pytest.MonkeyPatch, biased: bool, smoothing: float, rows: int
) -> None:
    monkeypatch.setattr(losses, "CHUNK_ELEMENTS", rows * VOCABULARY)
    leaves, targets = inputs(biased=biased)
    total, likelihood = expected(leaves, targets, smoothing)
    # A factor, because training divides by the number of tokens after the loss is taken.
    wanted = torch.autograd.grad(total / 3, leaves)
    loss = found(leaves, targets, smoothing)
    torch.testing.assert_close(loss.total, total, atol=1e-10, rtol=1e-10)
    torch.testing.assert_close(loss.likelihood, likelihood, atol=1e-10, rtol=1e-10)
    for gradient, other in zip(torch.autograd.grad(loss.total / 3, leaves), wanted, strict=True):
        torch.testing.assert_close(gradient, other, atol=1e-10, rtol=1e-10)


@pytest.mark.parametrize("biased", [True, False])
def test_without_gradients_the_loss_is_the_same(biased: bool) -> None:
    leaves, targets = inputs(biased=biased)
    with torch.no_grad():
        loss = found(leaves, targets, 0.1)
    total, likelihood = expected(leaves, targets, 0.1)
    torch.testing.assert_close(loss.total, total, atol=1e-10, rtol=1e-10)
    torch.testing.assert_close(loss.likelihood, likelihood, atol=1e-10, rtol=1e-10)
    assert not loss.total.requires_grad


class Largest(TorchDispatchMode):
    """Notes the most elements that any tensor had."""

    def __init__(self) -> None:
        super().__init__()
        self.elements = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        for each in result if isinstance(result, tuple | list) else [result]:
            if isinstance(each, Tensor):
                self.elements = max(self.elements, each.numel())
        return result


def test_the_scores_of_all_tokens_are_never_held(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens, vocabulary, rows = 331, 97, 19
    monkeypatch.setattr(losses, "CHUNK_ELEMENTS", rows * vocabulary)
    leaves, targets = inputs(biased=True, tokens=tokens, vocabulary=vocabulary)
    with Largest() as spy:
        found(leaves, targets, 0.1).total.backward()
    assert spy.elements == max(rows * vocabulary, tokens * WIDTH)
    with Largest() as spy:  # the spy sees it where it is held
        expected(leaves, targets, 0.1)[0].backward()
    assert spy.elements == tokens * vocabulary


@pytest.mark.parametrize("block", [10, 1000])  # several with a short last one; exactly one
def test_bfloat16_sums_in_float32(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(losses, "BLOCK", block)
    leaves, targets = inputs(biased=True)
    single = [leaf.detach().float().requires_grad_() for leaf in leaves]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = found(single, targets, 0.1)
    total, likelihood = expected(leaves, targets, 0.1)
    assert loss.total.dtype == torch.float32
    # 8 bits of mantissa in the scores, whose errors do not add up; sums in bfloat16 would be off by 1 %.
    torch.testing.assert_close(loss.total.double(), total, rtol=2e-3, atol=0)
    torch.testing.assert_close(loss.likelihood.double(), likelihood, rtol=2e-3, atol=0)
    loss.total.backward()
    wanted = torch.autograd.grad(total, leaves)
    for leaf, other in zip(single, wanted, strict=True):
        assert leaf.grad.dtype == torch.float32
        assert (leaf.grad.double() - other).norm() < 0.02 * other.norm()


def test_a_token_that_is_all_but_impossible_keeps_its_loss_and_gradient() -> None:
    weight = torch.eye(5).mul(300.0).requires_grad_()
    hidden = torch.eye(5)[:3].clone().requires_grad_()
    targets = torch.tensor([0, 1, 4])  # the last has a probability of e^-300, 0 in float32
    loss = cross_entropy(hidden, weight, None, targets, label_smoothing=0.1)
    total = F.cross_entropy(hidden @ weight.t(), targets, reduction="sum", label_smoothing=0.1)
    assert float(loss.likelihood) == pytest.approx(300.0)
    torch.testing.assert_close(loss.total, total)
    leaves = [hidden, weight]
    wanted = torch.autograd.grad(total, leaves)
    for gradient, other in zip(torch.autograd.grad(loss.total, leaves), wanted, strict=True):
        torch.testing.assert_close(gradient, other)
