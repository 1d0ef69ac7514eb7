"""Names of other toolkits lead to names that are there."""

import re

import pytest
import typer.main

from tests.docs.examples import ROOT
from translate.cli.main import build_app
from translate.config.composer import Composer
from translate.config.names import OTHER_NAMES
from translate.errors import UserError

SETTINGS = re.findall(
    r"^\| `([\w.]+)` \|", (ROOT / "docs" / "settings.md").read_text(encoding="utf-8"), re.MULTILINE
)


def options() -> set[str]:
    found, queue = set(), [typer.main.get_command(build_app())]
    while queue:
        command = queue.pop()
        queue += getattr(command, "commands", {}).values()
        found |= {name for parameter in command.params for name in parameter.opts}
    return found


def test_every_name_of_ours_is_there() -> None:
    choices = Composer().choices()
    known = {*SETTINGS, *choices, *(name for names in choices.values() for name in names), *options()}
    assert not [name for name in OTHER_NAMES if name not in known]
    assert len(OTHER_NAMES) > 60


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("training.valid_steps=9", "training.validate_every"),
        ("optimizer.name=adam", "optimizer=NAME"),
        ("model.num_layers=3", "model.encoder_layers or model.decoder_layers"),
        ("data.dev.source=x", "data.validation.source"),
        ("arch=transformer", "model"),
        ("model/attention=mlp", "model/attention=concat"),
        ("tokenizer=spm", "tokenizer=bpe"),
        ("experiment=fine_tune", "training.start_from"),
        ("training.best_metric=BLEU", "bleu"),
    ],
)
def test_a_name_of_another_toolkit_is_told_ours(given: str, hint: str) -> None:
    from translate.config.settings import check_config

    with pytest.raises(UserError) as told:
        Composer().compose([given], check_config)
    assert f"; did you mean {hint}?" in str(told.value)
