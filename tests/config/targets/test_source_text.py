"""What the source text tells of a class is what the class itself says; mistakes read the same either way."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from translate.config.names import config_directory
from translate.config.settings import TARGETS
from translate.config.targets import source_text
from translate.config.targets.resolving import check_in_source, check_target, options_of, parameters_of
from translate.config.targets.source_text import options_in_source
from translate.config.values import understood
from translate.errors import UserError

NAMES = sorted(
    {
        name
        for file in config_directory().rglob("*.yaml")
        for name in re.findall(r"_target_: ([\w.]+\.\w+)", file.read_text(encoding="utf-8"))
    }
)
MULTI_HEAD = {"_target_": "translate.attention.MultiHead", "_partial_": True}
TRANSFORMER = {"_target_": "translate.models.Transformer", "attention": MULTI_HEAD}
ADAM = {"_target_": "torch.optim.Adam", "_partial_": True}
COSINE = {"_target_": "translate.training.schedules.Cosine", "total": 9, "warmup": 3}


def test_every_class_of_the_configuration_is_understood():
    assert len(NAMES) > 35
    assert [name for name in NAMES if options_in_source(name) is None] == []


@pytest.mark.parametrize("name", NAMES)
def test_the_text_tells_what_the_class_says(name: str):
    found = options_in_source(name)
    assert found is not None
    assert list(found) == parameters_of({"_target_": name}, ())
    for option, (annotation, default) in options_of(name).items():
        parameter = found[option]
        assert (parameter.default is parameter.empty) == (default is parameter.empty), option
        if name.startswith("translate."):  # torch's own annotations name tensors
            told, said = understood(parameter.annotation), understood(annotation)
            assert str(told) == str(said), option


@pytest.mark.parametrize(
    ("section", "node"),
    [
        ("model", TRANSFORMER | {"num_layerz": 9}),
        ("model", TRANSFORMER | {"width": "wide"}),
        ("model", TRANSFORMER | {"width": 0}),
        ("model", TRANSFORMER | {"dropout": float("inf")}),
        ("model", TRANSFORMER | {"source_vocabulary": 7}),
        ("model", TRANSFORMER | {"attention": MULTI_HEAD | {"heads": 3, "num_head": 3}}),
        ("model", TRANSFORMER | {"self_attention": {"_target_": "translate.attention.ALiBi", "slopes": 1}}),
        ("model", {"_target_": "translate.models.BahdanauRNN", "attention": MULTI_HEAD, "width": 7}),
        ("model", {"_target_": "translate.models.LuongRNN", "attention": MULTI_HEAD, "input_feeding": 1}),
        ("optimizer", ADAM | {"lrr": 0.1}),
        ("optimizer", ADAM | {"params": 1}),
        ("optimizer", ADAM | {"_partial_": "yes"}),
        ("schedule", COSINE | {"warmupp": 1}),
        ("schedule", COSINE | {"warmup": 0.5}),
        ("schedule", {"_target_": "translate.training.optimizer.Cosine", "totl": 1}),  # where it stood before
    ],
    ids=str,
)
def test_a_mistake_reads_the_same(section: str, node: Mapping[str, Any]):
    messages = []
    for check in (check_target, check_in_source):
        with pytest.raises(UserError) as told:
            check(node, section, (), TARGETS[section])
        messages.append(str(told.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize(
    "node",
    [
        TRANSFORMER | {"width": 14},
        {"_target_": "torch.nn.Linear", "nothing": 1},  # no family: the import refuses it
        {"_target_": "translate.models.Transfomer"},
        {"_target_": "translate.models"},
        {"_target_": "os.system"},
        {"_target_": 3},
        {},
    ],
    ids=str,
)
def test_what_the_text_does_not_tell_is_left_to_the_import(node: Mapping[str, Any]):
    check_in_source(node, "model", (), TARGETS["model"])


def test_a_class_of_a_plugin_is_not_read():
    check_in_source({"_target_": "translate.models.Transformer", "nothing": 1}, "model", ["translate.models"])


PLAIN = """
from translate.config.option_groups import Width
class Plain:
    def __init__(self, one: int, *, two: Width | None = None): ...
class Inherited(Plain):
    size = 3
"""
OTHERS = {
    "Decorated": "class Decorated:\n    @cached\n    def __init__(self, one): ...",
    "Made": "class Made:\n    def __new__(cls, one): ...",
    "Bare": "class Bare:\n    size = 3",
    "Foreign": "from torchx import Base\nclass Foreign(Base): ...",
    "Meta": "class Meta(Plain, metaclass=type): ...",
    "Itself": "class Itself(Itself): ...",
    "Broken": "class Broken(",
}


@pytest.fixture
def text(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """The text of the module `given.text`."""
    (tmp_path / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path.parent)
    monkeypatch.setattr(source_text, "ROOTS", (tmp_path.name,))
    source_text._module.cache_clear()
    yield tmp_path / "text.py"
    source_text._module.cache_clear()


def test_a_constructor_is_inherited(text: Path):
    text.write_text(PLAIN)
    found = options_in_source(f"{text.parent.name}.text.Inherited")
    assert found is not None
    assert list(found) == ["one", "two"]
    assert found["one"].annotation is int


@pytest.mark.parametrize("name", OTHERS)
def test_other_classes_are_unknown(name: str, text: Path):
    text.write_text(PLAIN + OTHERS[name])
    assert options_in_source(f"{text.parent.name}.text.{name}") is None
