import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tests.tiny_models import BACKENDS, tiny_model
from translate.config.training import TeacherForcingConfig
from translate.corpora.batching import Batch, EncodedCorpus, Ragged, collate
from translate.errors import UserError
from translate.models import Seq2Seq
from translate.models.dropout import Dropout
from translate.training.averaging import Averaged
from translate.training.optimizer import Constant, Plateau, Schedule
from translate.training.update import MAX_SKIPPED, Care, StepReport, Update

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
    **options: Any,
) -> Update:
    return Update(
        model,
        torch.optim.SGD(model.parameters(), lr=rate),
        schedule or Constant(),
        label_smoothing=0.1,
        clip_norm=clip_norm,
        average=average,
        precision=torch.float32,  # no autocast; the model itself is in float64
        **options,
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


def poisoned(places: list[int]) -> Seq2Seq:
    """A model that has no number for sentences with certain source words, and one for all others."""
    model = undropped("luong")
    with torch.no_grad():
        model.get_parameter("source_embedding.weight")[places] = math.nan
    return model


def test_the_pairs_to_blame_are_named(corpus: EncodedCorpus) -> None:
    bad = int(corpus.source.row(2)[0])
    touched = [place for place in range(5) if bad in corpus.source.row(place)]
    update = updater(poisoned([bad]), care=Care(text_of=lambda index: f"text {index}"))
    with pytest.raises(UserError) as told:
        update([collate(corpus, [0, 1]), collate(corpus, [2, 3, 4])], 7)
    named = ", ".join(str(place + 1) for place in touched)
    assert f"training pairs {named}, counted after filtering; the first is text {touched[0]})" in str(
        told.value
    )
    assert 1 <= len(touched) < 5


def test_a_step_without_numbers_is_left_out_and_the_next_one_taken(corpus: EncodedCorpus) -> None:
    model = undropped("luong")
    update = updater(model, care=Care(skip_non_finite=True), average=Averaged(model, 0.9))
    before, good = weights(model), model.output_weight.detach().clone()
    with torch.no_grad():
        model.output_weight[9, 0] = math.nan
    report = update([collate(corpus, [0, 1])], 1)
    assert (report.num_tokens, report.loss.item(), report.padded_tokens) == (0, 0.0, 0)
    assert report.notes[0].startswith("step 1: loss nan")
    with torch.no_grad():
        model.output_weight.copy_(good)
    assert all(map(torch.equal, weights(model), before))
    assert update([collate(corpus, [0, 1])], 2).notes == ()
    assert not all(map(torch.equal, weights(model), before))


def test_too_many_steps_without_numbers_end_the_run(corpus: EncodedCorpus) -> None:
    model = undropped("luong")
    with torch.no_grad():
        model.output_weight[9, 0] = math.nan
    update = updater(model, care=Care(skip_non_finite=True))
    for step in range(1, MAX_SKIPPED):
        update([collate(corpus, [0])], step)
    with pytest.raises(UserError, match=f"so were the {MAX_SKIPPED - 1} steps before it"):
        update([collate(corpus, [0])], MAX_SKIPPED)


class Cramped:
    """Makes a model run out of memory above so many target places."""

    def __init__(self, model: Seq2Seq, places: int) -> None:
        self.forward, self.places = model.forward, places
        self.sizes: list[int] = []
        model.forward = self  # type: ignore[method-assign,assignment]

    def __call__(self, source: Any, mask: Any, target_in: torch.Tensor) -> torch.Tensor:
        self.sizes.append(target_in.numel())
        if target_in.numel() > self.places:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB.")
        return self.forward(source, mask, target_in)


def test_a_batch_that_does_not_fit_is_named_with_what_to_try(corpus: EncodedCorpus) -> None:
    model = undropped("luong")
    Cramped(model, 40)
    with pytest.raises(UserError) as told:
        updater(model)([collate(corpus, range(5))], 3)
    message = str(told.value)
    assert message.startswith(
        "step 3: out of memory at a batch of 5 pairs, 8 source and 12 target places each;"
    )
    assert "training.batch_tokens=30 " in message
    assert "training.out_of_memory=lower" in message


def test_in_parts_the_step_is_the_same(corpus: EncodedCorpus) -> None:
    whole, parted = undropped("luong"), undropped("luong")
    cramped = Cramped(parted, 20)
    update = updater(parted, care=Care(lower_memory=True))
    batches = [collate(corpus, [1, 3]), collate(corpus, range(5))]
    wanted, found = updater(whole)(batches, 1), update(batches, 1)
    assert update.part_tokens == 12  # two pairs of 12 did not fit, either
    assert len(found.notes) == 1
    assert "at most 12 target tokens" in found.notes[0]
    assert max(cramped.sizes[-6:]) <= 20
    torch.testing.assert_close(found.loss, wanted.loss)
    assert found[3:6] == wanted[3:6]
    for mine, other in zip(weights(whole), weights(parted), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-10, atol=1e-10)
    restored = updater(undropped("luong"))
    restored.load_state_dict(update.state_dict())
    assert restored.part_tokens == 12


def test_one_pair_that_does_not_fit_ends_the_run(corpus: EncodedCorpus) -> None:
    model = undropped("luong")
    Cramped(model, 3)
    with pytest.raises(UserError, match="out of memory at a batch of 1 pairs"):
        updater(model, care=Care(lower_memory=True))([collate(corpus, [0, 2])], 1)


def test_another_error_is_no_lack_of_memory(corpus: EncodedCorpus) -> None:
    model = undropped("luong")
    del model.target_embedding
    with pytest.raises(AttributeError):
        updater(model, care=Care(lower_memory=True))([collate(corpus, [0])], 1)


def test_without_dropout_r_drop_is_the_plain_loss(corpus: EncodedCorpus) -> None:
    plain, both = undropped("transformer"), undropped("transformer")
    batch = [collate(corpus, range(5))]
    wanted, found = updater(plain)(batch, 1), updater(both, r_drop=5.0)(batch, 1)
    torch.testing.assert_close(found.loss, wanted.loss)
    torch.testing.assert_close(found.likelihood, wanted.likelihood)
    for mine, other in zip(weights(plain), weights(both), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-8, atol=1e-10)


def test_r_drop_is_half_of_both_losses_and_their_divergence(corpus: EncodedCorpus) -> None:
    model, weight = tiny_model("transformer"), 3.0
    batch = collate(corpus, range(5))
    torch.manual_seed(11)
    found = updater(model, r_drop=weight)([batch], 1)
    torch.manual_seed(11)
    model = tiny_model("transformer").train()
    torch.manual_seed(11)
    assert batch.source_mask is not None
    hidden = model(*(torch.cat([each, each]) for each in (batch.source, batch.source_mask, batch.target_in)))
    logs = torch.log_softmax(model.logits(hidden), -1).detach().numpy()
    total = 0.0
    for row in range(5):
        for place in range(LENGTHS[row][1] + 1):
            p, q = logs[row, place], logs[row + 5, place]
            target = batch.target_out[row, place]
            for each in (p, q):
                total += 0.5 * -(0.9 * each[target] + 0.1 * each.mean())
            total += 0.5 * weight * 0.5 * float(((np.exp(p) - np.exp(q)) * (p - q)).sum())
    assert float(found.loss) == pytest.approx(total, rel=1e-6)


def test_teacher_forcing_follows_its_schedule(corpus: EncodedCorpus) -> None:
    model = undropped("bahdanau")
    update = updater(model, teacher_forcing=TeacherForcingConfig(decay="linear", steps=4))
    seen = []
    for step in (1, 3, 4):
        update([collate(corpus, [0])], step)
        seen.append(model.teacher_forcing)
    assert seen == [0.75, 0.25, 0.0]


def test_float16_scales_the_loss_and_leaves_out_steps_that_overflow(corpus: EncodedCorpus) -> None:
    model = undropped("luong").float()
    update = Update(
        model,
        torch.optim.Adam(model.parameters(), lr=0.01, fused=True),
        Constant(),
        label_smoothing=0.1,
        clip_norm=1.0,
        average=None,
        precision=torch.float16,
    )
    batch, plain = [collate(corpus, range(5))], undropped("luong").float()
    wanted = updater(plain)(batch, 1)
    update.scaler.load_state_dict(update.scaler.state_dict() | {"scale": 2.0**40})  # too much
    before, reports = weights(model), list[StepReport]()
    while not reports or reports[-1].num_tokens == 0:
        reports.append(update(batch, len(reports) + 1))
        if reports[-1].num_tokens == 0:
            assert all(map(torch.equal, weights(model), before))
    assert len(reports) > 1
    assert "overflowed float16" in reports[0].notes[0]
    assert not all(map(torch.equal, weights(model), before))
    assert float(reports[-1].loss) == pytest.approx(float(wanted.loss), rel=0.02)
    assert float(reports[-1].gradient_norm) == pytest.approx(float(wanted.gradient_norm), rel=0.05)
    state = update.state_dict()["scaler"]
    assert state["scale"] == update.scaler.get_scale()


def test_a_state_of_another_model_is_refused_with_every_difference(corpus: EncodedCorpus) -> None:
    state = updater(undropped("luong")).state_dict()
    with pytest.raises(UserError, match="the model is not that of the checkpoint: ") as told:
        updater(undropped("bahdanau")).load_state_dict(state)
    assert "combine.weight is gone" in str(told.value)
    assert "readout.weight is new" in str(told.value)
    assert "cell.weight_hh_l0 was (44, 11), now (33, 11)" in str(told.value)
