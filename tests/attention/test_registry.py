"""A mechanism is found by its registration: by names, configuration, tests, tables and scripts alike."""

import importlib
import sys
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

import translate.attention
from scripts.mechanisms import mechanism_table, variants
from tests.attention.cases import attends_within, missing_oracles
from translate.attention import Attention, contract, create, mechanisms, names, register
from translate.config.composer import Composer, compose
from translate.config.names import config_directory
from translate.config.settings import check_config
from translate.config.targets import resolve_target

CHOICES = config_directory() / "model" / "attention"
MODULE = '''
from torch import Tensor

from translate.attention import Attention, Memory, register
from translate.attention.functional import dot_scores


@register("tempered")
class Tempered(Attention):
    """q^T k / temperature: a test."""

    def __init__(self, query_size: int, key_size: int, temperature: float = 2.0) -> None:
        super().__init__(query_size, key_size)
        self.temperature = temperature

    def scores(self, query: Tensor, memory: Memory, state: object = None) -> Tensor:
        return dot_scores(query.unsqueeze(1), memory.keys) / self.temperature
'''
YAML = "_target_: translate.attention.tempered.Tempered\n_partial_: true\ntemperature: 2.0\n"


def choices(group: str) -> set[str]:
    return {file.stem for file in (config_directory() / "model" / group).glob("*.yaml")}


def test_every_mechanism_has_a_file_of_its_name() -> None:
    assert choices("attention") == set(names())
    for name, mechanism in mechanisms().items():
        target = yaml.safe_load((CHOICES / f"{name}.yaml").read_text())["_target_"]
        assert resolve_target(target) is mechanism
        assert target == f"translate.attention.{mechanism.__name__}"


@pytest.mark.parametrize("name", names())
def test_the_file_of_a_mechanism_builds_it_with_its_options(name: str) -> None:
    node = yaml.safe_load((CHOICES / f"{name}.yaml").read_text())
    built = translate.config.targets.instantiate(node, "model.attention", [])(24, 24)
    assert type(built) is mechanisms()[name]
    for option in ("num_heads", "num_key_value_heads", "window", "max_length", "num_buckets", "gaussian"):
        if node.get(option) is not None:
            assert getattr(built, option) == node[option]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in names() if attends_within(name)])
def test_self_attention_has_the_options_of_the_attention_file_and_the_heads_of_the_model(name: str) -> None:
    config = compose([f"model/self_attention={name}", "model.num_heads=6"], check=check_config)
    expected = yaml.safe_load((CHOICES / f"{name}.yaml").read_text())
    assert dict(config.model.self_attention) == {**expected, "num_heads": 6}


def test_one_class_and_one_file_are_found_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if ``tempered.py`` and ``tempered.yaml`` lay in the package and in ``conf``."""
    (tmp_path / "tempered.py").write_text(MODULE)
    choice = tmp_path / "conf" / "model" / "attention" / "tempered.yaml"
    choice.parent.mkdir(parents=True)
    choice.write_text(YAML)
    monkeypatch.setattr(contract, "_MECHANISMS", dict(contract._MECHANISMS))
    monkeypatch.setattr(translate.attention, "__path__", [*translate.attention.__path__, str(tmp_path)])
    importlib.invalidate_caches()
    try:
        assert "tempered" in names()
        mechanism = create("tempered", query_size=5, key_size=5, temperature=3.0)
        assert mechanism.temperature == 3.0
        overrides = ["model=rnn_luong", "model/attention=tempered", "model.decoder_size=384"]
        config = Composer([tmp_path / "conf"]).compose(overrides, check_config)
        assert config.model.attention.temperature == 2.0
        assert missing_oracles() == ["no oracle for tempered: add it to tests/attention/cases.py"]
        assert "tempered" in [variant.name for variant in variants()]
        row = "| `tempered` | q^T k / temperature | a test | `temperature` |  |"
        assert row in mechanism_table([tmp_path / "conf" / "model" / "attention", CHOICES]).splitlines()
    finally:
        sys.modules.pop("translate.attention.tempered", None)
        translate.attention.__dict__.pop("tempered", None)


def test_a_name_belongs_to_one_class() -> None:
    with pytest.raises(
        ValueError, match=r"attention 'dot': the name belongs to translate\.attention\.dot_product"
    ):

        @register("dot")
        class Another(Attention):
            """Not the dot product."""


def test_the_documented_table_is_the_generated_one() -> None:
    page = Path(__file__).parents[2] / "docs" / "mechanisms.md"
    assert mechanism_table() in page.read_text(encoding="utf-8"), "run scripts/mechanisms.py --table"
