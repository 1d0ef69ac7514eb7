"""Steps that fail: numbers that are not finite, too little memory, overflow of float16."""

import math
from typing import Any

import pytest
import torch

from tests.training.steps import SMOOTHED, undropped, updater, weights
from translate.corpora.batching import collate
from translate.corpora.encoded import EncodedCorpus
from translate.errors import UserError
from translate.models import Seq2Seq
from translate.training.recovery import MAX_SKIPPED, Recovery
from translate.training.update import StepReport, Update
from translate.training.weights import MovingAverage


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_gradient_that_is_not_finite_is_told_and_not_taken(bad: float, corpus: EncodedCorpus) -> None:
    model = undropped("transformer")
    with torch.no_grad():
        model.output_weight[9, 0] = bad
    before = weights(model)
    update = Recovery(updater(model, clip_norm=1.0, average=MovingAverage(model, 0.9)))
    with pytest.raises(UserError, match=r"^step 17: .*not both finite") as told:
        update([collate(corpus, [3, 1])], 17)
    assert "optimizer.lr" in str(told.value)
    for mine, other in zip(weights(model), before, strict=True):
        assert torch.equal(mine.nan_to_num(1.5, 2.5), other.nan_to_num(1.5, 2.5))
    assert all(parameter.grad is None for parameter in model.parameters())


def test_a_step_without_numbers_is_left_out_and_the_next_one_taken(corpus: EncodedCorpus) -> None:
    model = undropped("luong")
    update = Recovery(updater(model, average=MovingAverage(model, 0.9)), skip_non_finite=True)
    before, good = weights(model), model.output_weight.detach().clone()
    with torch.no_grad():
        model.output_weight[9, 0] = math.nan
    report = update([collate(corpus, [0, 1])], 1)
    assert (report.num_tokens, report.loss.item()) == (0, 0.0)
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
    update, resumed = (Recovery(updater(model), skip_non_finite=True) for _ in range(2))
    for step in range(1, MAX_SKIPPED):
        update([collate(corpus, [0])], step)
    resumed.load_state_dict(update.state_dict())
    with pytest.raises(UserError, match=f"so were the {MAX_SKIPPED - 1} steps before it"):
        resumed([collate(corpus, [0])], MAX_SKIPPED)


class Cramped:
    """Makes a model run out of memory above a number of target tokens, padding included."""

    def __init__(self, model: Seq2Seq, most: int) -> None:
        self.forward, self.most = model.forward, most
        self.sizes: list[int] = []
        model.forward = self  # type: ignore[method-assign,assignment]

    def __call__(self, source: Any, mask: Any, target_in: torch.Tensor) -> torch.Tensor:
        self.sizes.append(target_in.numel())
        if target_in.numel() > self.most:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB.")
        return self.forward(source, mask, target_in)


def test_a_batch_that_does_not_fit_is_named_with_what_to_try(corpus: EncodedCorpus) -> None:
    model = undropped("luong")
    Cramped(model, 40)
    with pytest.raises(UserError) as told:
        Recovery(updater(model))([collate(corpus, range(5))], 3)
    message = str(told.value)
    assert message.startswith(
        "step 3: out of memory at a batch of 5 pairs, 8 source and 12 target tokens each;"
    )
    assert "training.batch_tokens=30 " in message
    assert "training.out_of_memory=lower" in message


def test_in_parts_the_step_is_the_same(corpus: EncodedCorpus) -> None:
    whole, parted = undropped("luong"), undropped("luong")
    cramped = Cramped(parted, 20)
    update = Recovery(updater(parted), lower_memory=True)
    batches = [collate(corpus, [1, 3]), collate(corpus, range(5))]
    wanted, found = updater(whole)(batches, 1), update(batches, 1)
    assert update.part_tokens == 12  # two pairs of 12 did not fit, either
    assert len(found.notes) == 1
    assert "at most 12 target tokens" in found.notes[0]
    assert max(cramped.sizes[-6:]) <= 20
    torch.testing.assert_close(found.loss, wanted.loss)
    assert found.num_tokens == wanted.num_tokens
    for mine, other in zip(weights(whole), weights(parted), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-10, atol=1e-10)
    restored = Recovery(updater(undropped("luong")))
    restored.load_state_dict(update.state_dict())
    assert restored.part_tokens == 12


def test_one_pair_that_does_not_fit_ends_the_run(corpus: EncodedCorpus) -> None:
    model = undropped("luong")
    Cramped(model, 3)
    with pytest.raises(UserError, match="out of memory at a batch of 1 pair, "):
        Recovery(updater(model), lower_memory=True)([collate(corpus, [0, 2])], 1)


def test_another_error_is_no_lack_of_memory(corpus: EncodedCorpus) -> None:
    model = undropped("luong")
    del model.target_embedding
    with pytest.raises(AttributeError):
        Recovery(updater(model), lower_memory=True)([collate(corpus, [0])], 1)


def test_float16_scales_the_loss_and_leaves_out_steps_that_overflow(corpus: EncodedCorpus) -> None:
    model = undropped("luong").float()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, fused=True)
    step = Update(model, optimizer, SMOOTHED, clip_norm=1.0, precision=torch.float16)
    update = Recovery(step)
    batch, plain = [collate(corpus, range(5))], undropped("luong").float()
    wanted = updater(plain)(batch, 1)
    step.scaler.load_state_dict(step.scaler.state_dict() | {"scale": 2.0**40})  # too much
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
    state = step.state_dict()["scaler"]
    assert state["scale"] == step.scaler.get_scale()
