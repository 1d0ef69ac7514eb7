"""A default stands once: what a constructor assumes is what its file in ``conf/model`` says."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from translate.attention import GroupedQuery, LocalM, MultiHead
from translate.config.files import is_open
from translate.config.names import config_directory
from translate.config.option_groups import flat_parameters
from translate.config.targets import resolve_target
from translate.models import Transformer

FILES = sorted((config_directory() / "model").rglob("*.yaml"))
SIZE = 192  # width of queries and keys in `conf/model`


def disagreements(target: Callable[..., Any], options: Mapping[str, Any]) -> list[str]:
    """The options whose default in the signature differs from the file; ``None`` is derived from sizes."""
    found, parameters = [], flat_parameters(target)
    for name, value in options.items():
        if isinstance(value, Mapping) or name not in parameters:
            continue
        default = parameters[name].default
        if is_open(value) and default is inspect.Parameter.empty:  # another setting gives it
            continue
        if default is None and value is not None:  # worked out from the sizes
            default = getattr(target(SIZE, SIZE), name)
        if default is inspect.Parameter.empty or default != value or type(default) is not type(value):
            found.append(f"{name}: {default!r} in Python, {value!r} in YAML")
    return found


def nodes(values: Any) -> list[dict[str, Any]]:
    """Every section with a target."""
    if not isinstance(values, dict):
        return []
    inner = [node for value in values.values() for node in nodes(value)]
    return [values, *inner] if "_target_" in values else inner


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_defaults_are_those_of_the_file(file: Any) -> None:
    for node in nodes(yaml.safe_load(file.read_text(encoding="utf-8"))):
        target = resolve_target(node["_target_"])
        assert disagreements(target, {key: node[key] for key in node if not key.startswith("_")}) == []


def test_every_option_of_a_model_is_in_its_file() -> None:
    given = {"source_vocabulary", "target_vocabulary", "attention", "self_attention", "encoder"}
    for name in ("transformer", "rnn_bahdanau", "rnn_luong"):
        values = yaml.safe_load((config_directory() / "model" / f"{name}.yaml").read_text(encoding="utf-8"))
        options = set(flat_parameters(resolve_target(values["_target_"]))) - given
        assert options == values.keys() - {"defaults", "name", "_target_"}


@pytest.mark.parametrize(
    ("target", "options", "found"),
    [
        (Transformer, {"width": 193}, ["width: 192 in Python, 193 in YAML"]),
        (Transformer, {"pre_norm": False, "tie": "all"}, ["pre_norm: True in Python, False in YAML"]),
        (LocalM, {"window": 11}, ["window: 10 in Python, 11 in YAML"]),
        (MultiHead, {"num_heads": 8}, ["num_heads: 4 in Python, 8 in YAML"]),
        (MultiHead, {"dropout": 0}, ["dropout: 0.0 in Python, 0 in YAML"]),
        (GroupedQuery, {"num_heads": 4, "num_key_value_heads": 2}, []),
        (GroupedQuery, {"num_key_value_heads": 1}, ["num_key_value_heads: 2 in Python, 1 in YAML"]),
    ],
)
def test_a_planted_difference_is_found(
    target: Callable[..., Any], options: dict[str, Any], found: list[str]
) -> None:
    assert disagreements(target, options) == found
