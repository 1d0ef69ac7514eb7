"""Option groups: one object for a constructor, one level for everyone else."""

from dataclasses import dataclass

import pytest

from translate.config.option_groups import flat_options, flat_parameters, option_group
from translate.config.targets import check_target, instantiate
from translate.errors import UserError


@option_group
@dataclass(frozen=True)
class Paint:
    colour: str = "red"
    layers: int = 2


class House:
    @flat_options
    def __init__(self, rooms: int, paint: Paint = Paint(layers=3), *, garden: bool = False) -> None:
        self.rooms, self.paint, self.garden = rooms, paint, garden


def test_options_come_at_one_level_or_as_a_group() -> None:
    assert House(5, colour="blue").paint == Paint("blue", 3)  # the constructor's own default, not the group's
    assert House(5, Paint("green"), garden=True).paint == Paint("green")
    assert House(5).paint == Paint(layers=3)
    with pytest.raises(TypeError, match="paint: give the whole group or its option layers, not both"):
        House(5, paint=Paint(), layers=1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'color'"):
        House(5, color="blue")


def test_a_signature_has_the_options_of_its_groups() -> None:
    parameters = flat_parameters(House)
    assert list(parameters) == ["rooms", "colour", "layers", "garden"]
    assert parameters["layers"].default == 3
    assert [parameter.annotation for parameter in parameters.values()] == [int, str, int, bool]


def test_a_target_takes_them_from_its_section() -> None:
    plugins, node = [__name__], {"_target_": f"{__name__}.House", "rooms": 2, "colour": "blue"}
    assert instantiate(node, "house", plugins).paint == Paint("blue", 3)
    assert instantiate({**node, "_partial_": True}, "house", plugins)(garden=True).garden
    with pytest.raises(UserError, match=r"house\.layer: unknown option of .*; did you mean house\.layers\?"):
        check_target({**node, "layer": 1}, "house", plugins)
    with pytest.raises(UserError, match=r"house\.layers: expected an integer, got 'many'"):
        check_target({**node, "layers": "many"}, "house", plugins)
    with pytest.raises(UserError, match=r"house\.paint: unknown option"):
        check_target({**node, "paint": {"layers": 1}}, "house", plugins)


def test_a_group_is_frozen() -> None:
    with pytest.raises(TypeError, match="Loose: an option group is a frozen dataclass"):

        @option_group
        @dataclass
        class Loose:
            size: int = 1
