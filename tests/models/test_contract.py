"""What every backend owes to search and alignment, whatever its options."""

import pytest
import torch
from torch import Tensor

from tests.tiny_models import CASES, UNNORMALISED, padded, random_sources, random_targets, tiny_model
from translate.models import Seq2Seq

ALL = list(CASES)
LENGTHS = [5, 3, 7]


def stepwise(model: Seq2Seq, source: Tensor, mask: Tensor | None, targets: Tensor, width: int) -> Tensor:
    """Hidden states (N, T, D) of ``width`` targets a sentence, token by token."""
    encoded = model.encode(source, mask)
    state = model.start(encoded).widen(width)
    rows = []
    for place in range(targets.shape[1]):
        hidden, state = model.step(targets[:, place], state, encoded)
        rows.append(hidden)
    return torch.stack(rows, 1)


@pytest.mark.parametrize(
    ("dtype", "tolerance", "width"), [(torch.float64, 1e-10, 3), (torch.float32, 1e-5, 1)]
)
@pytest.mark.parametrize("name", ALL)
@torch.no_grad()
def test_cached_steps_equal_teacher_forcing(
    name: str, dtype: torch.dtype, tolerance: float, width: int
) -> None:
    model = tiny_model(name, dtype)
    source, mask = padded(random_sources(LENGTHS))
    targets = random_targets(len(LENGTHS) * width, 6)
    forced = model(source.repeat_interleave(width, 0), mask.repeat_interleave(width, 0), targets)
    found = stepwise(model, source, mask, targets, width)
    assert found.shape == (len(LENGTHS) * width, 6, model.output_weight.shape[1])
    torch.testing.assert_close(found, forced, rtol=0, atol=tolerance)
    assert forced.std() > 1e-2


@pytest.mark.parametrize("name", ALL)
@torch.no_grad()
def test_steps_go_on_after_hypotheses_are_reordered_and_sentences_left(name: str) -> None:
    model, width = tiny_model(name), 3
    sources = random_sources(LENGTHS)
    source, mask = padded(sources)
    targets = random_targets(len(LENGTHS) * width, 7)
    encoded = model.encode(source, mask)
    state = model.start(encoded).widen(width)
    for place in range(3):
        _, state = model.step(targets[:, place], state, encoded)
    # Sentence 1 leaves; in the others hypotheses change places, and one is continued twice.
    origins = torch.tensor([2, 0, 0, 7, 8, 6])
    state, encoded = state.select(origins), encoded.select(torch.tensor([0, 2]))
    targets = targets[origins]
    rows = []
    for place in range(3, 7):
        hidden, state = model.step(targets[:, place], state, encoded)
        rows.append(hidden)
    kept = torch.tensor([0, 0, 0, 2, 2, 2])
    forced = model(source[kept], mask[kept], targets)
    torch.testing.assert_close(torch.stack(rows, 1), forced[:, 3:], rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", ALL)
@torch.no_grad()
def test_padding_of_any_length_changes_nothing(name: str) -> None:
    model = tiny_model(name)
    sources = random_sources(LENGTHS)
    targets = random_targets(len(LENGTHS), 6)
    layers = range(model.num_attention_layers)
    for extra in (0, 1, 11):
        source, mask = padded(sources, extra)
        hidden = model(source, mask, targets)
        weights = model.forced_weights(source, mask, targets, layers)
        for row, sentence in enumerate(sources):
            alone, target = torch.tensor([sentence]), targets[row : row + 1]
            torch.testing.assert_close(hidden[row : row + 1], model(alone, None, target), rtol=0, atol=1e-10)
            expected = model.forced_weights(alone, None, target, layers)
            for layer in layers:
                found = weights[layer][row]  # (H, T, S)
                assert (found[..., len(sentence) :] == 0).all()
                torch.testing.assert_close(found[..., : len(sentence)], expected[layer][0], rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", ALL)
@torch.no_grad()
def test_a_target_sees_nothing_of_its_future(name: str) -> None:
    model = tiny_model(name)
    source, mask = padded(random_sources(LENGTHS))
    targets = random_targets(len(LENGTHS), 6)
    other = targets.clone()
    other[:, 4] = 22 - other[:, 4] % 7
    assert (other[:, 4] != targets[:, 4]).all()
    before, after = model(source, mask, targets), model(source, mask, other)
    torch.testing.assert_close(after[:, :4], before[:, :4], rtol=0, atol=1e-10)
    assert (after[:, 4] - before[:, 4]).abs().max(-1).values.min() > 1e-4
    longer = model(source, mask, torch.cat([targets, random_targets(len(LENGTHS), 4, seed=9)], 1))
    torch.testing.assert_close(longer[:, :6], before, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", ALL)
@torch.no_grad()
def test_forced_weights_are_distributions_over_the_source(name: str) -> None:
    model = tiny_model(name)
    source, mask = padded(random_sources(LENGTHS))
    targets = random_targets(len(LENGTHS), 6)
    every = model.forced_weights(source, mask, targets, range(model.num_attention_layers))
    assert len(every) == model.num_attention_layers
    for weights in every:
        assert weights.shape == (len(LENGTHS), model.num_attention_heads, 6, max(LENGTHS))
        assert weights.dtype == torch.float32
        if name not in UNNORMALISED:
            total = weights.sum(-1)  # 0 where a window holds nothing of the source
            torch.testing.assert_close(total, (total > 0.5).float(), rtol=0, atol=1e-5)
            assert (weights >= 0).all()
        assert (weights.abs().sum(-1) > 0).float().mean() > 0.7
        assert weights[0, :, :, :5].std() > 1e-3
    last = model.num_attention_layers - 1
    torch.testing.assert_close(model.forced_weights(source, mask, targets, [last])[0], every[last])
    twice = model.forced_weights(source, mask, targets, [last, 0])
    torch.testing.assert_close(twice[0], every[last])
    torch.testing.assert_close(twice[1], every[0])


@pytest.mark.parametrize("name", ALL)
def test_forward_with_weights_is_forward_and_its_weights_have_gradients(name: str) -> None:
    model = tiny_model(name)
    source, mask = padded(random_sources(LENGTHS))
    targets = random_targets(len(LENGTHS), 6)
    layer = model.num_attention_layers - 1
    hidden, weights = model.forward_with_weights(source, mask, targets, layer)
    torch.testing.assert_close(hidden, model(source, mask, targets), rtol=0, atol=1e-10)
    expected = model.forced_weights(source, mask, targets, [layer])[0]
    torch.testing.assert_close(weights.float(), expected, rtol=0, atol=1e-6)
    weights.square().sum().backward()
    assert any(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())


@pytest.mark.parametrize("name", ALL)
def test_training_draws_dropout_and_reaches_every_parameter(name: str) -> None:
    model = tiny_model(name).train()
    source, mask = padded(random_sources(LENGTHS))
    targets = random_targets(len(LENGTHS), 6)
    first, second = model(source, mask, targets), model(source, mask, targets)
    assert not torch.equal(first, second)
    model.eval()
    assert torch.equal(model(source, mask, targets), model(source, mask, targets))
    torch.logsumexp(model.logits(model(source, mask, targets)), -1).square().sum().backward()
    for label, parameter in model.named_parameters():
        if name == "transformer-positional" and "cross_norm" in label:
            continue  # what it normalises is a query that nobody reads
        assert parameter.grad is not None, label
        assert torch.isfinite(parameter.grad).all(), label
