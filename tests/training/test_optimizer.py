import math

import pytest
from torch import nn

from tests.tiny_models import tiny_model
from translate.models import Seq2Seq
from translate.training.optimizer import (
    Constant,
    Cosine,
    Halving,
    InverseSquareRoot,
    Linear,
    Plateau,
    Schedule,
    parameter_groups,
)


@pytest.mark.parametrize("step", [1, 2, 399, 400, 401, 1600, 100_000])
def test_inverse_square_root_is_equation_3_of_vaswani(step: int) -> None:
    width, warmup = 512, 400

    def rate(at: int) -> float:
        return width**-0.5 * min(at**-0.5, at * warmup**-1.5)

    # ours is told the peak, which the paper reaches at the end of the warm-up
    assert math.isclose(InverseSquareRoot(warmup).factor(step), rate(step) / rate(warmup))


def test_inverse_square_root_has_its_peak_at_the_end_of_the_warm_up() -> None:
    factors = [InverseSquareRoot(13).factor(step) for step in range(1, 40)]
    assert factors.index(max(factors)) == 12
    assert max(factors) == 1.0


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


def test_plateau_warms_up_and_can_be_saved() -> None:
    schedule = Plateau(decay=0.5, patience=1, warmup=4)
    schedule.observe(improved=False)
    other = Plateau(decay=0.5, patience=1, warmup=4)
    other.load_state_dict(schedule.state_dict())
    assert [other.factor(step) for step in (1, 4, 9)] == [0.125, 0.5, 0.5]


def test_plateau_remembers_how_long_it_has_waited() -> None:
    schedule, other = Plateau(patience=3), Plateau(patience=3)
    schedule.observe(improved=False)
    schedule.observe(improved=False)
    other.load_state_dict(schedule.state_dict())
    other.observe(improved=False)
    assert other.factor(1) == 0.5


def test_a_schedule_without_settings_leaves_the_rate() -> None:
    assert Schedule().factor(7) == 1.0


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: InverseSquareRoot(0), "warmup: expected at least 1 step, got 0"),
        (lambda: Constant(-1), "warmup: expected at least 0 steps, got -1"),
        (lambda: Linear(5, warmup=5), "total: expected more steps than warmup=5, got 5"),
        (lambda: Plateau(decay=1.0), "decay: expected a factor between 0 and 1, got 1.0"),
        (lambda: Cosine(5, warmup=5), "total: expected more steps than warmup=5, got 5"),
        (lambda: Halving(epochs=-1), "epochs: expected at least 0, got -1"),
        (lambda: Halving(decay=1.0), "decay: expected a factor between 0 and 1, got 1.0"),
        (lambda: Plateau(patience=0), "patience: expected at least 1 validation, got 0"),
    ],
)
def test_impossible_schedules(build: type[Schedule], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize("name", ["transformer", "transformer-post", "bahdanau", "luong"])
def test_matrices_decay_and_vectors_and_embeddings_do_not(name: str) -> None:
    model: Seq2Seq = tiny_model(name)
    decayed, kept = (group["params"] for group in parameter_groups(model, 0.3))
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    assert sorted(names[id(each)] for each in [*decayed, *kept]) == sorted(names.values())
    embeddings = [id(each.weight) for each in model.modules() if isinstance(each, nn.Embedding)]
    for parameter in decayed:
        assert parameter.dim() >= 2
        assert id(parameter) not in embeddings
    for parameter in kept:
        assert parameter.dim() == 1 or id(parameter) in embeddings
    # an output matrix of its own is a matrix like any other
    assert (id(model.output_weight) in map(id, decayed)) == (id(model.output_weight) not in embeddings)


def test_the_groups_carry_their_decay_and_frozen_parameters_none() -> None:
    model = nn.Sequential(nn.Linear(3, 5), nn.Linear(5, 7))
    model[0].requires_grad_(False)
    groups = parameter_groups(model, 0.3)
    assert [(group["weight_decay"], [p.shape for p in group["params"]]) for group in groups] == [
        (0.3, [(7, 5)]),
        (0.0, [(7,)]),
    ]
    assert len(parameter_groups(nn.LayerNorm(3), 0.3)) == 1  # torch refuses an empty group


def test_cosine_is_half_a_wave_after_the_warm_up() -> None:
    schedule = Cosine(total=12, warmup=2, minimum=0.1)
    assert [schedule.factor(step) for step in (1, 2, 7, 12, 99)] == pytest.approx([0.5, 1.0, 0.55, 0.1, 0.1])
    assert schedule.factor(4) == pytest.approx(0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * 0.2)))


def test_halving_begins_after_five_epochs() -> None:
    schedule = Halving(epochs=5, warmup=2)
    factors = []
    for epoch in range(8):
        schedule.enter(epoch)
        factors.append(schedule.factor(epoch + 1))
    assert factors == [0.5, 1, 1, 1, 1, 0.5, 0.25, 0.125]  # of the first, the warm-up
