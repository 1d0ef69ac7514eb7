"""Adding a mechanism is one class and one YAML file, outside the package."""

import sys
from pathlib import Path

import pytest

import translate
from tests.tiny_runs import overrides_of
from translate.config.composer import Composer
from translate.config.settings import check_config
from translate.errors import UserError
from translate.runs.life import train

MODULE = '''
from torch import Tensor

from translate.attention import Attention, Memory
from translate.attention.functional import dot_scores


class Tempered(Attention):
    """q^T k / temperature."""

    def __init__(self, query_size: int, key_size: int, temperature: float = 1.0) -> None:
        super().__init__(query_size, key_size)
        self.temperature = temperature

    def scores(self, query: Tensor, memory: Memory, state: object = None) -> Tensor:
        return dot_scores(query.unsqueeze(1), memory.keys) / self.temperature
'''
YAML = "_target_: my_attention_plugin.Tempered\n_partial_: true\ntemperature: 2.0\n"


@pytest.mark.slow
def test_one_class_and_one_yaml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_attention_plugin.py").write_text(MODULE)
    choice = tmp_path / "conf" / "model" / "attention" / "tempered.yaml"
    choice.parent.mkdir(parents=True)
    choice.write_text(YAML)
    monkeypatch.syspath_prepend(tmp_path)
    run = tmp_path / "run"
    plugged = ["model/attention=tempered", "run.plugins=[my_attention_plugin]", "training.max_steps=2"]
    sizes = ["model.encoder_size=13", "model.decoder_size=26"]
    overrides = overrides_of(run, "rnn_luong", *plugged, *sizes)
    assert train(Composer([tmp_path / "conf"]).compose(overrides, check_config)) == 0
    translator = translate.load(run, plugins=["my_attention_plugin"])
    attention = translator.model.attention
    assert type(attention).__name__ == "Tempered"
    assert attention.temperature == 2.0
    found = translator.translate(["I love you ."], alignments=True)[0].alignment
    assert len(found.source_words) == 4
    sys.modules.pop("my_attention_plugin")
    with pytest.raises(UserError, match=r"needs code of the module 'my_attention_plugin'.*--plugin"):
        translate.load(run)
    assert "my_attention_plugin" not in sys.modules  # a run's folder imports nothing by itself
    with pytest.raises(UserError, match="plugin my_atention_plugin: there is no such module"):
        translate.load(run, plugins=["my_attention_plugin", "my_atention_plugin"])
