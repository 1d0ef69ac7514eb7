"""Two processes against one with the same batches: gradients, clipping, averages, the reported loss."""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import nn

from tests.ranks import SIZE, Ranks
from tests.tiny_models import tiny_model
from translate.attention.kernels.dropout import Dropout
from translate.config.training import RuntimeConfig, TrainingConfig
from translate.corpora.batching import POSITION_BITS, collate
from translate.corpora.encoded import EncodedCorpus, Ragged
from translate.errors import UserError
from translate.models import Seq2Seq
from translate.training import update as update_module
from translate.training.losses import GuidedAlignment, Loss, LossTerms, batch_loss
from translate.training.parallel import Parallel, World, connected, parallelise, whole
from translate.training.recovery import Recovery
from translate.training.stream import BatchStream, Position
from translate.training.update import Update
from translate.training.weights import MovingAverage, model_tensors

LENGTHS = [(3, 5), (2, 1), (7, 11), (4, 4), (5, 2), (3, 13), (6, 6)]  # of source and target
BATCHES = [[0, 1], [2], [5], [3, 4, 6], [1]]  # of one step; rank 1 has one batch less than rank 0
CPU = torch.device("cpu")


def corpus() -> EncodedCorpus:
    generator = np.random.default_rng(3)
    sides = [
        [generator.integers(4, 19, size).tolist() for size in side] for side in zip(*LENGTHS, strict=True)
    ]
    links = [[0 << POSITION_BITS | 1, (target - 1) << POSITION_BITS | 0] for _, target in LENGTHS]
    return EncodedCorpus(Ragged.of(sides[0]), Ragged.of(sides[1]), Ragged.of(links))


def undropped(name: str) -> Seq2Seq:
    model = tiny_model(name.removesuffix("-unread"))
    if name.endswith("-unread"):
        model.encoder[0].unread = nn.Linear(3, 2).double()
    for module in model.modules():
        if isinstance(module, Dropout):
            module.p = 0.0
    return model


class Found(NamedTuple):
    weights: dict[str, np.ndarray]
    average: list[np.ndarray]
    reports: list[list[float]]
    tied: bool


def steps(model: Seq2Seq, parallel: Parallel, guided: GuidedAlignment | None) -> Found:
    """Two steps of plain gradient descent, so that the weights are the gradients, clipped in the second."""
    update = Update(
        model,
        torch.optim.SGD(model.parameters(), lr=0.3),
        LossTerms(label_smoothing=0.1, guided_alignment=guided),
        average=MovingAverage(model, 0.7),
        parallel=parallel,
    )
    pairs, world = corpus(), parallel.world
    num_tokens = sum(LENGTHS[i][1] + 1 for rows in BATCHES for i in rows)
    mine = BATCHES[world.rank :: world.size]
    if spare := len(mine) < len(BATCHES[:: world.size]):
        mine = [*mine, BATCHES[0]]
    reports = []
    for step, update.clip_norm in ((1, None), (2, 0.05)):
        batches = [collate(pairs, rows) for rows in mine]
        report = update(batches, step, num_tokens=num_tokens, spare=spare)
        assert report.num_tokens == num_tokens
        sums = report.loss, report.likelihood, report.gradient_norm
        reports.append([float(value) for value in sums])
    return Found(
        {name: whole(tensor).numpy().copy() for name, tensor in model_tensors(model).items()},
        [whole(tensor).numpy() for tensor in update.average.weights],
        reports,
        model.target_embedding.weight is model.output_weight,
    )


def together(kind: Any, name: str, guided: GuidedAlignment | None) -> Found:
    with connected(RuntimeConfig(parallel=kind), CPU, f"{kind}-{name}-{guided}") as world:
        model = undropped(name)
        return steps(model, parallelise(kind, model, world, CPU), guided)


CASES = [
    ("bahdanau", GuidedAlignment(0.5, 0), "ddp"),
    ("luong", None, "fsdp"),
    ("transformer-unread", None, "ddp"),
    ("transformer-unread", None, "fsdp"),
    ("transformer", GuidedAlignment(0.5, 1), "fsdp"),
]


@pytest.mark.parametrize(("name", "guided", "kind"), CASES)
def test_two_processes_take_the_steps_of_one(
    name: str, guided: GuidedAlignment | None, kind: str, ranks: Ranks
) -> None:
    alone = steps(undropped(name), Parallel(), guided)
    found = ranks(together, kind, name, guided)
    start = model_tensors(undropped(name))
    assert max(float(np.abs(alone.weights[key] - start[key].numpy()).max()) for key in start) > 1e-2
    for each in found:
        assert each.weights.keys() == alone.weights.keys()
        for key, weight in alone.weights.items():
            np.testing.assert_allclose(each.weights[key], weight, rtol=1e-10, atol=1e-10, err_msg=key)
        for mine, other in zip(each.average, alone.average, strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(each.reports, alone.reports, rtol=1e-6)  # losses are kept in float32
        np.testing.assert_allclose(
            [row[2] for row in each.reports], [row[2] for row in alone.reports], rtol=1e-10
        )
        assert each.tied == alone.tied == name.startswith("transformer")


def spoiled(factor: float, *arguments: Any) -> Loss:
    loss = batch_loss(*arguments)
    return loss._replace(total=loss.total * factor)


def skipped_steps(kind: Any) -> list[tuple[tuple[str, ...], float]]:
    """Steps in the second of which the batch of rank 1 alone has a loss that is not finite."""
    with connected(RuntimeConfig(parallel=kind), CPU, f"skip-{kind}") as world:
        model = undropped("transformer")
        parallel = parallelise(kind, model, world, CPU)  # first: the parameters are others then
        update = Update(
            model,
            torch.optim.SGD(model.parameters(), lr=0.3),
            LossTerms(label_smoothing=0.1),
            clip_norm=1.0,
            parallel=parallel,
        )
        take_step = Recovery(update, skip_non_finite=True)
        pairs, found = corpus(), []
        for step in (1, 2, 3):
            broken = float("inf") if step == 2 and world.rank == 1 else 1.0
            update_module.batch_loss = partial(spoiled, broken)
            report = take_step([collate(pairs, [world.rank])], step, num_tokens=8)
            total = sum(float(whole(tensor).abs().sum()) for tensor in model_tensors(model).values())
            found.append((report.notes, total))
        return found


@pytest.mark.parametrize("kind", ["ddp", "fsdp"])
def test_all_processes_leave_out_a_step_that_one_cannot_take(kind: str, ranks: Ranks) -> None:
    first, second = ranks(skipped_steps, kind)
    assert first == second
    (one, *before), (two, *left_out), (three, *after) = first
    assert one == three == ()
    assert left_out == before != after
    assert len(two) == 1
    assert "not both finite" in two[0]


def test_batches_are_dealt_from_one_order() -> None:
    encoded = corpus()

    def stream(accumulate: int, rank: int = 0, processes: int = 1) -> BatchStream:
        config = TrainingConfig(batch_tokens=13, accumulate=accumulate, seed=5, word_dropout=0.5)
        return BatchStream(encoded, config, sample, World(rank, processes))

    def sample(key: Sequence[int], rows: np.ndarray) -> EncodedCorpus:
        epoch = key[1]  # other pieces, and lengths, in each
        cut = [[5, 6, 7, 8][: 1 + (i + epoch) % 4] for i in range(len(LENGTHS))]
        return EncodedCorpus(encoded.source, Ragged.of(cut))

    alone, dealt = stream(4), [stream(2, rank, SIZE) for rank in (0, 1)]
    streams = [each.from_position(Position()) for each in (alone, *dealt)]
    spared = 0
    for _ in range(7):
        whole_group, *parts = (next(stream) for stream in streams)
        assert {part.after for part in parts} == {whole_group.after}
        assert {part.num_tokens for part in parts} == {whole_group.num_tokens}
        assert whole_group.num_tokens == sum(batch.num_tokens for batch in whole_group.batches)
        assert len({len(part.batches) for part in parts}) == 1  # or a process would wait for ever
        counted = [part.batches[: -1 if part.spare else None] for part in parts]
        for rank, batches in enumerate(counted):
            wanted = whole_group.batches[rank::SIZE]
            assert [each.indices for each in batches] == [each.indices for each in wanted]
            assert all(torch.equal(a.target_in, b.target_in) for a, b in zip(batches, wanted, strict=True))
        assert not parts[0].spare
        spared += parts[1].spare
    assert spared > 0
    for each in streams:
        each.close()


def end_often(*, failing: bool) -> int:
    """Free DDP and its reducer after its processes have disconnected; returns how often."""
    for number in range(40):
        with (
            suppress(UserError, SystemExit),
            connected(RuntimeConfig(parallel="ddp", device="cpu"), CPU, f"run {number}") as world,
        ):
            engine = parallelise("ddp", undropped("transformer"), world, CPU)
            world.wait()
            if failing:
                raise UserError("a run that fails")
        del engine
    return number + 1


@pytest.mark.slow
@pytest.mark.parametrize("failing", [False, True])
def test_a_run_ends_though_its_model_outlives_the_processes(failing: bool, ranks: Ranks) -> None:
    assert ranks(partial(end_often, failing=failing)) == [40] * SIZE
