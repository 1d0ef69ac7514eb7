"""`translate settings`: every setting with path, default, type and meaning; the page of the documentation."""

import json
from pathlib import Path

import pytest

from scripts.settings_page import page
from tests.cli.commands import Command
from translate.cli.settings import ORDER
from translate.config.composer import Composer

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"


def test_a_section_is_readable_in_80_columns(translate_command: Command) -> None:
    result = translate_command("settings", "training")
    assert (result.code, result.err) == (0, "")
    setting = "  training.batch_tokens = 2048\n    an integer, at least 1: target tokens in a batch"
    assert setting in result.out
    assert "search.beam_size" not in result.out
    assert max(map(len, result.out.splitlines())) <= 80


def test_every_setting_is_listed_as_json(translate_command: Command) -> None:
    listed = json.loads(translate_command("settings", "--json").out)
    paths = [setting["path"] for setting in listed]
    assert len(paths) == len(set(paths))
    assert {path.split(".")[0] for path in paths} == set(ORDER)
    assert {"training.teacher_forcing.decay", "model.attention.kernel", "run.overwrite"} <= set(paths)
    (metric,) = [setting for setting in listed if setting["path"] == "training.best_metric"]
    assert metric["type"] == "one of bleu, chrf, ter, nll, aer"
    assert metric["default"] == "bleu"


def test_what_composes_is_listed_with_the_same_value(translate_command: Command) -> None:
    listed = {row["path"]: row["default"] for row in json.loads(translate_command("settings", "--json").out)}
    composed = Composer().compose()
    for path in ("optimizer.lr", "schedule.warmup", "model.tie", "data.num_train", "search.batch_size"):
        section, name = path.split(".")
        assert listed[path] == composed[section][name]


def test_a_setting_is_found_by_its_own_name(translate_command: Command) -> None:
    code, shown, _ = translate_command("settings", "beam_size")
    assert code == 0
    assert [line for line in shown.splitlines() if " = " in line] == ["  search.beam_size = 5"]
    assert "model.attention.window = null\n" in translate_command("settings", "model.attention.window").out


def test_model_and_mechanism_may_be_chosen(translate_command: Command) -> None:
    out = translate_command("settings", "model", "model=rnn_bahdanau", "model/attention=coverage").out
    assert "model.attention.max_fertility = 2.0" in out
    assert "model.word_in_query" in out
    assert "model.pre_norm" not in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trainig"], "trainig: no section or setting; did you mean training? (sections: data, "),
        (["model.cell"], "model.cell: no section or setting; give its choice, too: model=rnn_luong (sect"),
        (["vocab"], "vocab: no section or setting; did you mean tokenizer.vocabulary_size? (sect"),
        (["training.wamup"], "training.wamup: no section or setting; did you mean warmup?"),
        (["learning_rate"], "learning_rate: no section or setting; did you mean optimizer.lr? (sect"),
        (["learning", "rate"], "learning_rate: no section or setting; did you mean optimizer.lr? (sect"),
        (["model", "model=rnn_lung"], "model=rnn_lung: no such choice; did you mean model=rnn_luong?"),
        (["--jsn"], "no such option --jsn of translate settings; did you mean --json?"),
    ],
)
def test_a_typo_gets_the_nearest_name(translate_command: Command, arguments: list[str], message: str) -> None:
    assert translate_command("settings", *arguments).refusal().startswith(f"error: {message}")


def test_the_page_of_the_documentation_is_up_to_date(translate_command: Command) -> None:
    out = "\n".join([*page(Composer().choices()), ""])
    assert PAGE.read_text(encoding="utf-8") == out, "run scripts/settings_page.py"
