import math
from typing import Any

import pytest
import torch
from torch import nn

from translate.config.targets import instantiate
from translate.config.training import TeacherForcingConfig, TrainingConfig
from translate.errors import UserError
from translate.training.loop import Limits
from translate.training.schedules import (
    Constant,
    Cosine,
    Halving,
    InverseSquareRoot,
    Linear,
    Plateau,
    Schedules,
    teacher_forcing_probability,
)
from translate.training.stream import Position


@pytest.mark.parametrize("step", [1, 2, 399, 400, 401, 1600, 100_000])
def test_inverse_square_root_is_equation_3_of_vaswani(step: int) -> None:
    width, warmup = 512, 400

    def rate(at: int) -> float:
        return width**-0.5 * min(at**-0.5, at * warmup**-1.5)

    # ours is told the peak, which the paper reaches at the end of the warm-up
    assert math.isclose(InverseSquareRoot(warmup).factor(step), rate(step) / rate(warmup))


def test_constant_warms_up() -> None:
    assert [Constant(4).factor(step) for step in range(1, 7)] == [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]
    assert Constant().factor(1) == 1.0


def test_linear_rises_to_its_peak_and_falls_to_its_minimum() -> None:
    found = [Linear(total=10, warmup=2, minimum=0.2).factor(step) for step in range(1, 13)]
    wanted = [0.5, 1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.2, 0.2]
    assert found == pytest.approx(wanted)
    assert Linear(total=4).factor(1) == 0.75


def test_plateau_cuts_after_patience_validations_in_a_row() -> None:
    schedule = Plateau(decay=0.5, patience=2, minimum=0.2)
    factors = []
    for improved in [True, False, True, False, False, False, False, True, False, False, False, False]:
        schedule.observe(improved=improved)
        factors.append(schedule.factor(1))
    assert factors == [1, 1, 1, 1, 0.5, 0.5, 0.25, 0.25, 0.25, 0.2, 0.2, 0.2]


def test_plateau_remembers_how_long_it_has_waited() -> None:
    schedule, other = Plateau(patience=3), Plateau(patience=3)
    schedule.observe(improved=False)
    schedule.observe(improved=False)
    other.load_state_dict(schedule.state_dict())
    other.observe(improved=False)
    assert other.factor(1) == 0.5


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ({"_target_": "InverseSquareRoot", "warmup": 0}, "warmup: expected at least 1, got 0"),
        ({"_target_": "Constant", "warmup": -1}, "warmup: expected at least 0, got -1"),
        (
            {"_target_": "Linear", "total": 5, "warmup": 5},
            "warmup: expected fewer steps than the run has, training.max_steps=5, got 5",
        ),
        ({"_target_": "Plateau", "decay": 1.0}, "decay: expected more than 0 and less than 1, got 1.0"),
        ({"_target_": "Plateau", "patience": 0}, "patience: expected at least 1, got 0"),
        ({"_target_": "Halving", "epochs": -1}, "epochs: expected at least 0, got -1"),
    ],
)
def test_impossible_schedules(node: dict[str, Any], message: str) -> None:
    node |= {"_target_": f"translate.training.schedules.{node['_target_']}"}
    with pytest.raises(UserError, match=f"schedule.{message}"):
        instantiate(node, "schedule", ())


def test_cosine_is_half_a_wave_after_the_warm_up() -> None:
    schedule = Cosine(total=12, warmup=2, minimum=0.1)
    assert [schedule.factor(step) for step in (1, 2, 7, 12, 99)] == pytest.approx([0.5, 1.0, 0.55, 0.1, 0.1])
    assert schedule.factor(4) == pytest.approx(0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * 0.2)))


def test_halving_begins_after_five_epochs() -> None:
    schedule = Halving(epochs=5, warmup=2)
    factors = []
    for epoch in range(8):
        schedule.enter(epoch, 0.0)
        factors.append(schedule.factor(epoch + 1))
    assert factors == [0.5, 1, 1, 1, 1, 0.5, 0.25, 0.125]  # of the first, the warm-up


def test_a_decay_without_a_number_of_steps_ends_with_the_run() -> None:
    schedule = Linear(total=None, warmup=4, minimum=0.2)
    factors = []
    for step, spent in ((1, 0.01), (2, 0.05), (3, 0.1), (9, 0.5), (99, 1.0)):
        schedule.enter(0, spent)
        factors.append(schedule.factor(step))
    # the warm-up takes a tenth of the run at most
    assert factors == pytest.approx([0.25 * 0.992, 0.5 * 0.96, 0.92, 0.6, 0.2])


def probabilities(*steps: int, **config: object) -> list[float]:
    return [teacher_forcing_probability(TeacherForcingConfig(**config), step) for step in steps]  # type: ignore[arg-type]


def test_the_three_decays_of_bengio() -> None:
    linear = probabilities(0, 5, 10, 99, decay="linear", steps=10, minimum=0.2)
    assert linear == pytest.approx([1.0, 0.6, 0.2, 0.2])
    assert probabilities(0, 3, decay="exponential", k=0.5) == [1.0, 0.125]
    wanted = [7 / (7 + math.exp(step / 7)) for step in (0, 14, 70)]
    assert probabilities(0, 14, 70, decay="inverse_sigmoid", k=7) == pytest.approx(wanted)
    assert probabilities(10**9, decay="inverse_sigmoid", k=1, minimum=0.1) == [0.1]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"decay": "linear"}, "steps: a value is required"),
        ({"decay": "exponential", "k": 1.0}, "k: expected a number between 0 and 1"),
        ({"decay": "inverse_sigmoid", "k": 0.5}, "k: expected at least 1"),
        ({"steps": 5}, "steps: it has no effect"),
        ({"decay": "linear", "steps": 5, "k": 2.0}, "k: it has no effect"),
        ({"minimum": 0.5}, "minimum: it has no effect"),
    ],
)
def test_settings_that_say_nothing_or_too_much(config: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TeacherForcingConfig(**config)  # type: ignore[arg-type]


class Recurrent(nn.Module):
    teacher_forcing = 1.0


def test_rates_and_teacher_forcing_are_set_before_each_step() -> None:
    model = Recurrent()
    weights = [nn.Parameter(torch.zeros(size)) for size in (2, 3)]
    groups: list[dict[str, Any]] = [{"params": [weights[0]]}, {"params": [weights[1]], "lr": 0.1}]
    optimizer = torch.optim.SGD(groups, lr=0.5)
    forcing = TeacherForcingConfig(decay="linear", steps=4)
    schedules = Schedules(optimizer, Halving(epochs=1, warmup=2), model, forcing)
    found = []
    for step, epoch in ((1, 0), (2, 0), (3, 1), (4, 2)):
        schedules.begin_step(step, Position(epoch))
        rates = [group["lr"] for group in optimizer.param_groups]
        found.append((*rates, model.teacher_forcing))
    assert found == [(0.25, 0.05, 0.75), (0.5, 0.1, 0.5), (0.25, 0.05, 0.25), (0.125, 0.025, 0.0)]


def test_a_rate_falls_within_the_epochs_that_end_a_run() -> None:
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(2))], lr=1.0)
    limits = Limits(TrainingConfig(max_steps=None, max_epochs=2), began=0.0)
    spent = lambda step, at: limits.spent(step, at.epoch + at.batch / 20)  # noqa: E731
    schedules = Schedules(optimizer, Linear(None, warmup=1000, minimum=0.0), spent=spent)
    rates = []
    for step in range(40):
        schedules.begin_step(step + 1, Position(*divmod(step, 20)))
        rates.append(optimizer.param_groups[0]["lr"])
    expected = [max(step / 4, (step + 1) / 1000) if step < 4 else 1 for step in range(40)]
    assert rates == pytest.approx([risen * (1 - step / 40) for step, risen in enumerate(expected)])


def test_a_validation_reaches_the_learning_rate() -> None:
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(2))], lr=0.5)
    schedules = Schedules(optimizer, Plateau(patience=1))
    schedules.validated(improved=False)
    schedules.begin_step(1, Position())
    assert optimizer.param_groups[0]["lr"] == 0.25


@pytest.mark.parametrize("schedule", [Linear, Cosine])
def test_a_rate_never_goes_uphill(schedule: Any) -> None:
    target = f"translate.training.schedules.{schedule.__name__}"
    with pytest.raises(UserError, match=r"minimum: expected 0 to 1, got -1"):
        instantiate({"_target_": target, "total": 10, "minimum": -1}, "schedule", ())
