"""The loops whose gradients are written out, against autograd step by step."""

from collections.abc import Callable, Sequence
from functools import partial
from unittest.mock import patch

import pytest
import torch
from torch import Tensor

from tests.tiny_models import attention, padded, random_sources, random_targets
from translate.attention import kernels
from translate.models import BahdanauRNN, LuongRNN, Seq2Seq
from translate.models.encoders import EncoderSizes, RNNEncoder


def gradients(total: Tensor, leaves: Sequence[Tensor]) -> list[Tensor | None]:
    return list(torch.autograd.grad(total, leaves, allow_unused=True))


def assert_same(found: Sequence[Tensor | None], wanted: Sequence[Tensor | None]) -> None:
    for one, other in zip(found, wanted, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            torch.testing.assert_close(one, other, atol=1e-11, rtol=1e-11)


def luong(name: str, *, decoder_size: int = 22, tie: str = "all", cell: str = "lstm") -> LuongRNN:
    torch.manual_seed(2)
    sizes = {"embedding_size": 7, "encoder_size": 11, "decoder_size": decoder_size}
    return LuongRNN(31, 31, attention(name), **sizes, dropout=0.0, tie=tie, cell=cell).double()


def bahdanau(name: str, *, word_in_query: bool = False) -> BahdanauRNN:
    torch.manual_seed(3)
    sizes = {"embedding_size": 7, "encoder_size": 11, "decoder_size": 13}
    mechanism = attention(name, attention_size=17)
    return BahdanauRNN(31, 31, mechanism, **sizes, dropout=0.0, word_in_query=word_in_query).double()


def assert_equals_single_steps(model: Seq2Seq, *, masked: bool, unread: int) -> None:
    """Outputs, weights and all gradients against autograd step by step; ``unread`` parameters have none."""
    source, mask = padded(random_sources([5, 3, 7] if masked else [5, 5, 5]))
    target_in = random_targets(3, 6)
    leaves = list(model.parameters())
    hidden, weights = model.forward_with_weights(source, mask, target_in, 0)

    with patch.object(kernels.SWITCH, "on", new=False):
        encoded = model.encode(source, mask)
        state, each, rows = model.start(encoded), [], []
        for ids in target_in.unbind(1):
            step, state, row = model.step_with_weights(ids, state, encoded, 0)
            each.append(step)
            rows.append(row)
        wanted_hidden, wanted_weights = torch.stack(each, 1), torch.cat(rows, 2)
    torch.testing.assert_close(hidden, wanted_hidden, atol=1e-12, rtol=1e-12)
    torch.testing.assert_close(weights, wanted_weights, atol=1e-12, rtol=1e-12)
    one, two = torch.randn(hidden.shape).double(), torch.randn(weights.shape).double()
    found = gradients((hidden * one).sum() + (weights * two).sum(), leaves)
    wanted = gradients((wanted_hidden * one).sum() + (wanted_weights * two).sum(), leaves)
    assert_same(found, wanted)
    assert sum(each is None for each in found) == unread


@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("tie", ["all", "none"])
@pytest.mark.parametrize("name", ["general", "dot"])
def test_input_feeding_equals_single_steps(name: str, tie: str, masked: bool, cell: str) -> None:
    model = luong(name, tie=tie, cell=cell)
    # Unread: the output's bias, and its weight where it is no embedding.
    assert_equals_single_steps(model, masked=masked, unread=1 if tie == "all" else 2)


@pytest.mark.parametrize("rows", [1, 2**19])
@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("word_in_query", [True, False])
@pytest.mark.parametrize("name", ["additive", "concat"])
def test_attending_before_each_step_equals_single_steps(
    name: str, word_in_query: bool, masked: bool, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "translate.attention.kernels.additive.CHUNK_ELEMENTS", rows
    )  # sentence by sentence, or all
    model = bahdanau(name, word_in_query=word_in_query)
    assert_equals_single_steps(model, masked=masked, unread=1)


@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("lengths", [[3, 11, 1, 7], None])
def test_an_encoder_equals_torch(cell: str, lengths: list[int] | None) -> None:
    torch.manual_seed(4)
    encoder = RNNEncoder(EncoderSizes(5, 7, 2, 0.0, cell)).double()
    embedded = torch.randn(4, 11, 5).double().requires_grad_()
    mask = None if lengths is None else torch.arange(11) < torch.tensor(lengths).unsqueeze(1)
    found = encoder(embedded, mask)
    with patch.object(kernels.SWITCH, "on", new=False):
        wanted = encoder(embedded, mask)
    assert_same(found, wanted)
    outward, leaves = [torch.randn(one.shape).double() for one in wanted], [embedded, *encoder.parameters()]
    assert_same(*(torch.autograd.grad(each, leaves, outward) for each in (found, wanted)))


def test_a_source_without_visible_words_has_finite_gradients() -> None:
    model = luong("general")
    source, _ = padded(random_sources([5, 5]))
    mask = torch.tensor([[True] * 5, [False] * 5])
    hidden = model(source, mask, random_targets(2, 3))
    found = gradients(hidden.sum(), list(model.parameters()))
    assert all(each is None or each.isfinite().all() for each in found)


@pytest.mark.parametrize(
    "build",
    [
        partial(luong, "general", cell="lstm"),
        partial(luong, "general", cell="gru"),
        partial(bahdanau, "additive"),
        partial(bahdanau, "additive", word_in_query=True),
    ],
)
def test_half_precision_is_near_float64_and_gives_float32(build: Callable[[], Seq2Seq]) -> None:
    exact, model = build(), build().float()
    source, mask = padded(random_sources([5, 3, 7]))
    target_in = random_targets(3, 6)
    wanted_hidden, wanted_weights = exact.forward_with_weights(source, mask, target_in, 0)
    with torch.autocast("cpu", torch.bfloat16):
        hidden, weights = model.forward_with_weights(source, mask, target_in, 0)
    assert (hidden.dtype, weights.dtype) == (torch.bfloat16, torch.float32)
    torch.testing.assert_close(hidden.double(), wanted_hidden, atol=0.03, rtol=0.03)
    torch.testing.assert_close(weights.double(), wanted_weights, atol=0.01, rtol=0.05)
    torch.testing.assert_close(weights.sum(3), torch.ones(3, 1, 6), atol=1e-6, rtol=0)
    wanted = gradients(wanted_hidden.square().sum(), list(exact.parameters()))
    found = gradients(hidden.float().square().sum(), list(model.parameters()))
    for one, other in zip(found, wanted, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            assert one.dtype == torch.float32
            # A few rounding errors of bfloat16 (2^-9), more where the softmax's gradients cancel out.
            assert (one.double() - other).norm() <= 0.05 * other.norm()
