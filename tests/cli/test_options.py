import pytest

from translate.alignment import formats
from translate.cli.align import options as align_options
from translate.cli.options import MachineOptions, TranslationMachine, check_languages
from translate.cli.text_options import (
    AlignmentOptions,
    LengthOptions,
    OutputOptions,
    SampleOptions,
    SearchOptions,
)
from translate.errors import UserError
from translate.figures.figure import check_extension


@pytest.mark.parametrize(
    "group",
    [
        MachineOptions,
        TranslationMachine,
        OutputOptions,
        AlignmentOptions,
        SearchOptions,
        LengthOptions,
        SampleOptions,
    ],
)
def test_options_left_out_decide_nothing(group: type) -> None:
    """The run's configuration decides; a default here would be a second one."""
    of_the_command = {"device": "auto", "precision": "float32", "n_best": 1, "format": "text"}
    of_the_command["engine"] = "torch"
    for name, value in vars(group()).items():
        assert value == of_the_command[name] if name in of_the_command else not value


def test_names_that_are_no_codes_tell_no_language() -> None:
    check_languages({"a": ("en", "fr"), "b": ("English", "French"), "c": ("source", "target")}, "compare")
    check_languages({"a": ("en", "pt-BR"), "b": ("", "")}, "compare")
    with pytest.raises(UserError, match="b translates fr to en"):
        check_languages({"a": ("en", "fr"), "b": ("fr", "en")}, "compare")


def test_names_that_help_lists_are_those_of_the_library() -> None:
    """The command line spells them out, so that `--help` need not import numpy."""
    assert (align_options.LINKS, align_options.TABLES) == (formats.LINKS, formats.TABLES)
    for suffix in align_options.PICTURES:
        assert check_extension(f"a{suffix}").suffix == suffix
