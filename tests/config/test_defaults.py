"""A class that `_target_` names has no default of its own for an option whose value stands in conf/."""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

import pytest

from translate.config.files import YAML, choice_of, from_file
from translate.config.names import config_directory
from translate.config.option_groups import groups_of
from translate.config.targets import PACKAGE, options_of, resolve_target
from translate.training import schedules

# `translate.attention.create(name, query_size=, key_size=)` serves without conf/: a mechanism may repeat a
# value, and ``None`` there is an option that was left out, to be worked out from the sizes.
CREATED_BY_NAME = "attention."
FILES = sorted(
    file.relative_to(config_directory()).as_posix()
    for folder in ("model", "optimizer", "schedule")
    for file in (config_directory() / folder).rglob("*.yaml")
)


def nodes(values: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The `_target_` nodes of a file that name a class of the package, nested ones too."""
    if str(values.get("_target_", "")).startswith(f"{PACKAGE}."):
        yield values
    for value in values.values():
        if isinstance(value, Mapping):
            yield from nodes(value)


def own_defaults(target: Any) -> set[str]:
    """Options of a class whose default is written in Python: in its constructor, or in an option group."""
    constructor = inspect.unwrap(target.__init__ if inspect.isclass(target) else target)
    groups = groups_of(target)
    given = inspect.signature(constructor).parameters.values()
    found = {
        option.name for option in given if option.default is not option.empty and option.name not in groups
    }
    found -= getattr(constructor, "from_file", frozenset())
    for group in groups.values():
        found |= {field.name for field in fields(group)} - getattr(group, "from_file", frozenset())
    return found


def second_defaults(values: Mapping[str, Any]) -> dict[str, set[str]]:
    """By class the options that have a default in Python beside the value of a file."""
    found: dict[str, set[str]] = {}
    for node in nodes(values):
        target = node["_target_"]
        known = options_of(resolve_target(target))
        for name in own_defaults(resolve_target(target)) & node.keys():
            value, default = node[name], known[name].default
            by_name = target.removeprefix(f"{PACKAGE}.").startswith(CREATED_BY_NAME)
            derived = default is None and (by_name or value is None)  # left out, or null in the file, too
            if not ("${" in str(value) or derived or (by_name and default == value)):
                found.setdefault(target, set()).add(name)
    return found


@pytest.mark.parametrize("file", FILES)
def test_a_default_stands_once(file: str) -> None:
    assert second_defaults(choice_of(*file.removesuffix(".yaml").rsplit("/", 1))) == {}


class Planted:
    """A class with a default of its own."""

    @from_file("schedule/plateau.yaml")
    def __init__(self, decay: float = YAML, patience: int = 2, warmup: int = 7) -> None:
        self.decay = decay


def test_a_planted_default_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert inspect.signature(Planted).parameters["decay"].default == 0.5
    monkeypatch.setattr(Planted, "__module__", schedules.__name__)
    monkeypatch.setattr(schedules, "Plateau", Planted)
    assert second_defaults(choice_of("schedule", "plateau")) == {
        "translate.training.schedules.Plateau": {"patience", "warmup"}
    }


def test_an_option_that_no_file_has_is_refused() -> None:
    with pytest.raises(KeyError, match="patients"):

        @from_file("schedule/plateau.yaml")
        def construct(patients: int = YAML) -> None: ...
