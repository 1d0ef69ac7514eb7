import math

import pytest

from translate.config.training import TeacherForcingConfig
from translate.training.teacher_forcing import known_probability


def probabilities(*steps: int, **config: object) -> list[float]:
    return [known_probability(TeacherForcingConfig(**config), step) for step in steps]  # type: ignore[arg-type]


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
