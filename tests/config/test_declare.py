"""Each default of a section stands once: in its YAML file. A second one in Python is refused."""

from dataclasses import fields, replace

import pytest
import yaml  # type: ignore[import-untyped]

from tests.config.outer import FILE, Inner, Outer
from translate.config.declare import DECLARED_IN, YAML, declared, is_open, section_of, to_section
from translate.config.names import config_directory
from translate.config.search import SearchConfig
from translate.config.settings import SECTIONS
from translate.config.training import TrainingConfig
from translate.errors import UserError


def test_defaults_are_those_of_the_file() -> None:
    text = (config_directory() / "search" / "beam.yaml").read_text(encoding="utf-8")
    assert {field.name: getattr(SearchConfig(), field.name) for field in fields(SearchConfig())} == (
        yaml.safe_load(text)
    )
    assert Outer(steps=3) == Outer(steps=3, name="x", inner=Inner(ratio=1.0, names=[]), width=3, rate=0.5)
    assert type(Inner().ratio) is float


def test_defaults_are_not_shared() -> None:
    Outer(steps=3).inner.names.append("a")
    assert Outer(steps=3).inner.names == []


def test_a_stored_section_that_lacks_a_newer_key_gets_its_default() -> None:
    assert to_section({"max_steps": 7}, TrainingConfig, "training") == TrainingConfig(max_steps=7)


@pytest.mark.parametrize("section", SECTIONS.values(), ids=SECTIONS)
def test_only_values_that_must_be_given_are_required(section: type) -> None:
    values = section_of(*DECLARED_IN[section])
    required = {name for name, value in values.items() if is_open(value)}
    with pytest.raises(UserError) if required else pytest.MonkeyPatch.context():
        section()
    section(**dict.fromkeys(required, "files"))


def test_a_second_default_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Planted\.ratio: its default stands in .*outer\.yaml; write = YAML"):

        @declared(FILE, "inner")
        class Planted:
            ratio: float = 2.0
            names: list[str] = YAML


def test_class_and_file_have_the_same_keys() -> None:
    with pytest.raises(TypeError, match=r"Planted and .*outer\.yaml differ in names, other"):

        @declared(FILE, "inner")
        class Planted:
            ratio: float = YAML
            other: int = YAML


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"beam": 3}, "beam: unknown key; did you mean beam_size?"),
        ({"top_p": 1.5}, "top_p: expected a number, more than 0 and at most 1, got 1.5"),
        ({"min_length": 5, "max_length": 3}, "min_length: 5 is more than max_length=3"),
    ],
)
def test_the_constructor_refuses_in_one_sentence(values: dict[str, float], message: str) -> None:
    for make in (SearchConfig, lambda **given: replace(SearchConfig(), **given)):
        if "beam" in values and make is not SearchConfig:
            continue
        with pytest.raises(UserError) as caught:
            make(**values)  # type: ignore[arg-type]
        assert str(caught.value) == message.replace("a number, ", "")
