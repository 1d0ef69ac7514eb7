"""Every setting is listed with type, default and meaning, each from its one source."""

import pytest

from tests.config.outer import FILE
from translate.config.composer import Composer
from translate.config.files import choice_of
from translate.config.listing import Setting, chosen_settings, closed_settings, comments_in
from translate.config.settings import SECTIONS, TARGETS

OPEN = {
    (group, choice)
    for group, choices in Composer().choices().items()
    for choice in choices
    if group.split("/")[0] in TARGETS
}


def by_path(settings: list[Setting]) -> dict[str, Setting]:
    return {setting.path: setting for setting in settings}


def test_type_limits_default_and_comment() -> None:
    settings = by_path(closed_settings("training"))
    assert settings["training.batch_tokens"] == Setting(
        "training.batch_tokens", "an integer, at least 1", 2048, "target tokens in a batch, padding included"
    )
    metric = settings["training.best_metric"]
    assert (metric.type, metric.default) == ("one of bleu, chrf, ter, nll, aer", "bleu")
    assert settings["training.ema"].type == "a number or null, more than 0 and less than 1"
    decay = settings["training.teacher_forcing.decay"]
    assert decay.type == "one of linear, exponential, inverse_sigmoid or null"


def test_a_choice_has_its_own_values() -> None:
    assert (
        by_path(closed_settings("runtime", choice_of("runtime", "ddp")))["runtime.parallel"].default == "ddp"
    )
    assert by_path(chosen_settings("schedule", "halving"))["schedule.epochs"].default == 5


def test_an_option_takes_the_text_of_its_base_class_or_group() -> None:
    for mechanism, option, meaning in (
        ("alibi", "causal", "hide the keys in a query's future; the last query stands at the last key"),
        ("delta", "bias", "whether the projections have a bias"),
        ("delta", "causal", "hide the keys in a query's future; the last query stands at the last key"),
    ):
        found = by_path(chosen_settings("model/attention", mechanism))
        assert found[f"model.attention.{option}"].meaning == meaning


def test_comments_are_read_with_their_continuation() -> None:
    assert comments_in(FILE) == {
        "": "Defaults of the sections that the tests declare.",
        "limit": "a limit",
        "inner.ratio": "a ratio, on two lines",
        "width": "a \"#\" in quotes: '#'",
    }


@pytest.mark.parametrize("section", SECTIONS)
def test_every_setting_of_a_section_says_what_it_means(section: str) -> None:
    assert [setting.path for setting in closed_settings(section) if not setting.meaning] == []


@pytest.mark.parametrize(("group", "choice"), sorted(OPEN))
def test_every_option_of_a_file_says_what_it_means(group: str, choice: str) -> None:
    assert [setting.path for setting in chosen_settings(group, choice) if not setting.meaning] == []


@pytest.mark.parametrize("section", SECTIONS)
def test_a_comment_names_every_choice(section: str) -> None:
    """The reader of a YAML file sees the choices there."""
    for setting in closed_settings(section):
        if setting.type.startswith("one of "):
            choices = setting.type.removeprefix("one of ").removesuffix(" or null").split(", ")
            text = f"{setting.default} {setting.meaning}"
            assert [choice for choice in choices if choice not in text] == [], setting.path
