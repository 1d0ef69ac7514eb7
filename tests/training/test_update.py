"""One optimizer step, and going on from its state."""

import numpy as np
import pytest
import torch

from tests.tiny_models import BACKENDS, tiny_model
from tests.training.steps import LENGTHS, SMOOTHED, undropped, updater, weights
from translate.config.training import TrainingConfig
from translate.corpora.batching import collate
from translate.corpora.encoded import EncodedCorpus
from translate.errors import UserError
from translate.training.loop import Training
from translate.training.losses import LossTerms
from translate.training.recovery import Recovery
from translate.training.schedules import Plateau, Schedules
from translate.training.stream import BatchStream, Position
from translate.training.update import Update
from translate.training.weights import MovingAverage


@pytest.mark.parametrize("name", BACKENDS)
def test_accumulating_unequal_batches_equals_one_batch(name: str, corpus: EncodedCorpus) -> None:
    whole, parts = undropped(name), undropped(name)
    one = updater(whole)([collate(corpus, range(5))], 1)
    three = updater(parts)([collate(corpus, rows) for rows in ([0, 1], [2], [3, 4])], 1)
    assert one.num_tokens == three.num_tokens == sum(target + 1 for _, target in LENGTHS)
    torch.testing.assert_close(one.loss, three.loss)
    torch.testing.assert_close(one.gradient_norm, three.gradient_norm, rtol=1e-10, atol=1e-10)
    for mine, other in zip(weights(whole), weights(parts), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-10, atol=1e-10)
    moved = (a - b for a, b in zip(weights(whole), weights(undropped(name)), strict=True))
    assert max(float(each.abs().max()) for each in moved) > 1e-3


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


def test_the_average_equals_a_loop(corpus: EncodedCorpus) -> None:
    model = undropped("luong")
    wanted = [weight.numpy().copy() for weight in weights(model)]
    update = updater(model, average=MovingAverage(model, 0.7))
    for step in range(1, 12):
        update([collate(corpus, [step % 5])], step)
        decay = min(0.7, (1 + step) / (10 + step))
        for average, weight in zip(wanted, weights(model), strict=True):
            average *= decay
            average += (1 - decay) * weight.numpy()
    raw = weights(model)
    with update.average.applied():
        for mine, other in zip(weights(model), wanted, strict=True):
            np.testing.assert_allclose(mine.numpy(), other, rtol=1e-10, atol=1e-12)
        assert any(not torch.equal(mine, other) for mine, other in zip(weights(model), raw, strict=True))
    assert all(torch.equal(mine, other) for mine, other in zip(weights(model), raw, strict=True))


def test_the_weights_come_back_when_validation_fails() -> None:
    model = undropped("luong")
    average = MovingAverage(model, 0.9)
    with torch.no_grad():
        model.output_weight.add_(1.0)
    before = weights(model)
    with pytest.raises(RuntimeError, match="full"), average.applied():
        raise RuntimeError("the disk is full")
    assert all(torch.equal(mine, other) for mine, other in zip(weights(model), before, strict=True))


def test_a_restored_update_goes_on_alike(corpus: EncodedCorpus) -> None:
    def build() -> Training:
        model = undropped("bahdanau")
        update = Update(
            model,
            torch.optim.Adam(model.parameters(), lr=0.01, fused=True),
            SMOOTHED,
            clip_norm=1.0,
            average=MovingAverage(model, 0.9),
        )
        schedules = Schedules(update.optimizer, Plateau(patience=1, warmup=3))
        return Training(
            BatchStream(corpus, TrainingConfig(batch_tokens=61, seed=5)), schedules, Recovery(update)
        )

    def steps(training: Training, first: int, last: int) -> None:
        for step in range(first, last + 1):
            training.schedules.begin_step(step, Position())
            training.take_step([collate(corpus, [step % 5])], step)

    whole, first, second = build(), build(), build()
    steps(first, 1, 3)
    first.schedules.validated(improved=False)
    with torch.no_grad():
        second.update.model.output_weight.zero_()  # all of it must come from the state
    second.load_state_dict(first.state_dict())
    steps(second, 4, 7)
    steps(whole, 1, 3)
    whole.schedules.validated(improved=False)
    steps(whole, 4, 7)
    for mine, other in zip(weights(second.update.model), weights(whole.update.model), strict=True):
        assert torch.equal(mine, other)
    assert all(map(torch.equal, second.update.average.weights, whole.update.average.weights))


def test_without_dropout_r_drop_is_the_plain_loss(corpus: EncodedCorpus) -> None:
    plain, both = undropped("transformer"), undropped("transformer")
    batch = [collate(corpus, range(5))]
    wanted, found = updater(plain)(batch, 1), updater(both, LossTerms(0.1, r_drop=5.0))(batch, 1)
    torch.testing.assert_close(found.loss, wanted.loss)
    torch.testing.assert_close(found.likelihood, wanted.likelihood)
    for mine, other in zip(weights(plain), weights(both), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-8, atol=1e-10)


def test_r_drop_is_half_of_both_losses_and_their_divergence(corpus: EncodedCorpus) -> None:
    model, weight = tiny_model("transformer"), 3.0
    batch = collate(corpus, range(5))
    torch.manual_seed(11)
    found = updater(model, LossTerms(0.1, r_drop=weight))([batch], 1)
    torch.manual_seed(11)
    model = tiny_model("transformer").train()
    torch.manual_seed(11)
    assert batch.source_mask is not None
    hidden = model(*(torch.cat([each, each]) for each in (batch.source, batch.source_mask, batch.target_in)))
    logs = torch.log_softmax(model.logits(hidden), -1).detach().numpy()
    total = 0.0
    for row in range(5):
        for position in range(LENGTHS[row][1] + 1):
            p, q = logs[row, position], logs[row + 5, position]
            target = batch.target_out[row, position]
            for each in (p, q):
                total += 0.5 * -(0.9 * each[target] + 0.1 * each.mean())
            total += 0.5 * weight * 0.5 * float(((np.exp(p) - np.exp(q)) * (p - q)).sum())
    assert float(found.loss) == pytest.approx(total, rel=1e-6)


def test_a_state_of_another_model_is_refused_with_every_difference(corpus: EncodedCorpus) -> None:
    state = updater(undropped("luong")).state_dict()
    with pytest.raises(UserError, match="the model is not that of the checkpoint: ") as told:
        updater(undropped("bahdanau")).load_state_dict(state)
    assert "combine.weight is gone" in str(told.value)
    assert "readout.weight is new" in str(told.value)
    assert "cell.weight_hh_l0 was (44, 11), now (33, 11)" in str(told.value)
