import math

import numpy as np
import pytest
import torch
from tiny_models import BACKENDS, tiny_model
from torch import nn

from translate.errors import UserError
from translate.models import Seq2Seq
from translate.models.dropout import Dropout
from translate.text.batching import Batch, EncodedCorpus, Ragged, collate
from translate.training.optimizer import Constant, Plateau, Schedule
from translate.training.update import Averaged, Update

LENGTHS = [(3, 5), (2, 1), (7, 11), (4, 4), (5, 2)]  # of source and target


@pytest.fixture
def corpus() -> EncodedCorpus:
    generator = np.random.default_rng(3)
    sides = [
        [generator.integers(4, 19, size).tolist() for size in side] for side in zip(*LENGTHS, strict=True)
    ]
    return EncodedCorpus(Ragged.of(sides[0]), Ragged.of(sides[1]))


def undropped(name: str) -> Seq2Seq:
    model = tiny_model(name)
    for module in model.modules():
        if isinstance(module, Dropout):
            module.p = 0.0
    return model


def updater(
    model: Seq2Seq,
    *,
    rate: float = 0.3,
    schedule: Schedule | None = None,
    clip_norm: float | None = None,
    average: Averaged | None = None,
) -> Update:
    return Update(
        model,
        torch.optim.SGD(model.parameters(), lr=rate),
        schedule or Constant(),
        label_smoothing=0.1,
        clip_norm=clip_norm,
        average=average,
        precision=torch.float32,  # no autocast; the model itself is in float64
    )


def weights(model: nn.Module) -> list[torch.Tensor]:
    return [parameter.detach().clone() for parameter in model.parameters()]


@pytest.mark.parametrize("name", BACKENDS)
def test_accumulating_unequal_batches_equals_one_batch(name: str, corpus: EncodedCorpus) -> None:
    whole, parts = undropped(name), undropped(name)
    one = updater(whole)([collate(corpus, range(5))], 1)
    three = updater(parts)([collate(corpus, places) for places in ([0, 1], [2], [3, 4])], 1)
    assert one.num_tokens == three.num_tokens == sum(target + 1 for _, target in LENGTHS)
    assert one.num_source_tokens == three.num_source_tokens == sum(source + 1 for source, _ in LENGTHS)
    torch.testing.assert_close(one.loss, three.loss)
    torch.testing.assert_close(one.gradient_norm, three.gradient_norm, rtol=1e-10, atol=1e-10)
    for mine, other in zip(weights(whole), weights(parts), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-10, atol=1e-10)
    moved = (a - b for a, b in zip(weights(whole), weights(undropped(name)), strict=True))
    assert max(float(each.abs().max()) for each in moved) > 1e-3


def test_the_report_counts_padding_of_both_sides(corpus: EncodedCorpus) -> None:
    report = updater(undropped("luong"))([collate(corpus, [0, 1]), collate(corpus, [2])], 7)
    assert report.step == 7
    assert report.padded_tokens == 2 * 4 + 2 * 6 + 8 + 12
    assert report.learning_rate == 0.3


def test_padding_does_not_count(corpus: EncodedCorpus) -> None:
    model = undropped("transformer")
    report = updater(model)([collate(corpus, [0, 2])], 1)
    alone = [updater(undropped("transformer"))([collate(corpus, [i])], 1) for i in (0, 2)]
    torch.testing.assert_close(report.loss, alone[0].loss + alone[1].loss)
    torch.testing.assert_close(report.likelihood, alone[0].likelihood + alone[1].likelihood)


@pytest.mark.parametrize("limit", [0.05, 1e6])
def test_clipping_scales_the_whole_gradient(limit: float, corpus: EncodedCorpus) -> None:
    batch = [collate(corpus, range(5))]
    free, clipped, start = undropped("bahdanau"), undropped("bahdanau"), weights(undropped("bahdanau"))
    norm = updater(free)(batch, 1).gradient_norm
    report = updater(clipped, clip_norm=limit)(batch, 1)
    torch.testing.assert_close(report.gradient_norm, norm)  # the norm before clipping
    factor = min(1.0, limit / float(norm))
    for before, all_of_it, some_of_it in zip(start, weights(free), weights(clipped), strict=True):
        torch.testing.assert_close(some_of_it - before, factor * (all_of_it - before), rtol=1e-4, atol=1e-9)


def test_the_schedule_scales_the_rate_of_each_step(corpus: EncodedCorpus) -> None:
    update = updater(undropped("luong"), rate=0.5, schedule=Constant(warmup=4))
    rates = [update([collate(corpus, [0])], step).learning_rate for step in (1, 2, 4, 5)]
    assert rates == [0.125, 0.25, 0.5, 0.5]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_gradient_that_is_not_finite_is_told_and_not_taken(bad: float, corpus: EncodedCorpus) -> None:
    model = undropped("transformer")
    with torch.no_grad():
        model.output_weight[9, 0] = bad
    before = weights(model)
    update = updater(model, clip_norm=1.0, average=Averaged(model, 0.9))
    with pytest.raises(UserError, match=r"^step 17: .*not both finite.*training pairs 4, 2,") as told:
        update([collate(corpus, [3, 1])], 17)
    assert "optimizer.lr" in str(told.value)
    for mine, other in zip(weights(model), before, strict=True):
        assert torch.equal(mine.nan_to_num(1.5, 2.5), other.nan_to_num(1.5, 2.5))
    assert all(parameter.grad is None for parameter in model.parameters())


def test_the_average_equals_a_loop(corpus: EncodedCorpus) -> None:
    model = undropped("luong")
    wanted = [weight.numpy().copy() for weight in weights(model)]
    update = updater(model, average=Averaged(model, 0.7))
    for step in range(1, 12):
        update([collate(corpus, [step % 5])], step)
        decay = min(0.7, (1 + step) / (10 + step))
        for average, weight in zip(wanted, weights(model), strict=True):
            average *= decay
            average += (1 - decay) * weight.numpy()
    raw = weights(model)
    assert update.average is not None
    with update.average.applied():
        for mine, other in zip(weights(model), wanted, strict=True):
            np.testing.assert_allclose(mine.numpy(), other, rtol=1e-10, atol=1e-12)
        assert any(not torch.equal(mine, other) for mine, other in zip(weights(model), raw, strict=True))
    assert all(torch.equal(mine, other) for mine, other in zip(weights(model), raw, strict=True))


def test_the_weights_come_back_when_validation_fails() -> None:
    model = undropped("luong")
    average = Averaged(model, 0.9)
    with torch.no_grad():
        model.output_weight.add_(1.0)
    before = weights(model)
    with pytest.raises(RuntimeError, match="full"), average.applied():
        raise RuntimeError("the disk is full")
    assert all(torch.equal(mine, other) for mine, other in zip(weights(model), before, strict=True))


def test_a_restored_update_goes_on_alike(corpus: EncodedCorpus) -> None:
    def build() -> Update:
        model = undropped("bahdanau")
        return Update(
            model,
            torch.optim.Adam(model.parameters(), lr=0.01, fused=True),
            Plateau(patience=1, warmup=3),
            label_smoothing=0.1,
            clip_norm=1.0,
            average=Averaged(model, 0.9),
            precision=torch.float32,
        )

    def steps(update: Update, first: int, last: int) -> None:
        for step in range(first, last + 1):
            update([collate(corpus, [step % 5])], step)

    whole, first, second = build(), build(), build()
    steps(first, 1, 3)
    first.schedule.observe(improved=False)
    with torch.no_grad():
        second.model.output_weight.zero_()  # all of it must come from the state
    second.load_state_dict(first.state_dict())
    steps(second, 4, 7)
    steps(whole, 1, 3)
    whole.schedule.observe(improved=False)
    steps(whole, 4, 7)
    for mine, other in zip(weights(second.model), weights(whole.model), strict=True):
        assert torch.equal(mine, other)
    assert second.average is not None
    assert whole.average is not None
    assert all(map(torch.equal, second.average.weights, whole.average.weights))


def test_bfloat16_is_near_float32(corpus: EncodedCorpus) -> None:
    losses = []
    batch: list[Batch] = [collate(corpus, range(5))]
    for precision in (torch.float32, torch.bfloat16):
        model = undropped("transformer").float()
        update = updater(model)
        update.precision = precision
        losses.append(float(update(batch, 1).loss))
        assert all(parameter.dtype == torch.float32 for parameter in model.parameters())
    assert losses[0] != losses[1]
    assert losses[0] == pytest.approx(losses[1], rel=0.01)
