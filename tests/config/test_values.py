"""Values are checked against annotations, and a refusal is one sentence with the path."""

import pytest
from omegaconf import OmegaConf

from tests.config.outer import Inner, Outer
from translate.config.declare import to_section
from translate.config.settings import check_section_names
from translate.errors import UserError


class TestSchema:
    def test_values_become_the_dataclass(self):
        built = to_section(
            {"steps": 1e3, "limit": 3, "inner": {"names": ["a"]}, "sizes": {"a": 5}, "name": 2016},
            Outer,
            "outer",
        )
        assert built == Outer(steps=1000, name="2016", limit=3.0, inner=Inner(names=["a"]), sizes={"a": 5})
        assert (type(built.steps), type(built.limit)) == (int, float)

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ({}, "outer.steps: a value is required"),
            ({"stepz": 1}, "outer.stepz: unknown key; did you mean outer.steps?"),
            ({"steps": True}, "outer.steps: expected an integer, got true"),
            ({"steps": 1, "limit": "1e3x"}, "outer.limit: expected a number or null, got '1e3x'"),
            ({"steps": 1, "limit": float("nan")}, "outer.limit: expected a finite number, got nan"),
            (
                {"steps": 1, "score": "blue"},
                "outer.score: expected one of bleu, loss, got 'blue'; did you mean bleu?",
            ),
            ({"steps": 1, "on": "yes"}, "outer.on: expected true or false, got 'yes'"),
            (
                {"steps": 1, "inner": 5},
                "outer.inner: expected a section of keys and values, got 5; write outer.inner.ratio=...",
            ),
            ({"steps": 1, "inner": {"names": [[]]}}, "outer.inner.names[0]: expected text, got []"),
            ({"steps": 1, "sizes": {"a": "b"}}, "outer.sizes.a: expected an integer, got 'b'"),
            ({"steps": 1, "width": 1}, "outer.width: expected 2 to 7, got 1"),
            ({"steps": 13}, "outer.steps: thirteen is refused"),
        ],
    )
    def test_a_wrong_value_is_named_with_its_path(self, values, message):
        with pytest.raises(UserError) as caught:
            to_section(values, Outer, "outer")
        assert str(caught.value) == message

    def test_a_value_still_to_be_given_is_named(self):
        with pytest.raises(UserError, match=r"data\.name: a value is required"):
            to_section(OmegaConf.create({"data": {"name": "???"}}).data, Inner, "data")

    def test_sections_are_closed(self):
        check_section_names({"run": {}})
        with pytest.raises(UserError, match=r"rnu: unknown section; did you mean run\?"):
            check_section_names({"rnu": {}})
