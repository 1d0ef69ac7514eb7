"""What ``--help`` shows is what was written: nothing is taken for markup."""

import inspect
import re
from typing import get_args, get_type_hints

import pytest
import typer

from tests.cli.commands import Command
from translate.cli.main import build_app

# Hydra writes the help of the first.
NAMES = [each.name for each in build_app().registered_commands if each.name != "train"]


def written(name: str) -> list[str]:
    """The docstring, the examples, and the help of each option of a command."""
    (command,) = [each for each in build_app().registered_commands if each.name == name]
    function = command.callback
    assert function is not None
    texts = [inspect.getdoc(function) or "", command.epilog or ""]
    for hint in get_type_hints(function, include_extras=True).values():
        for each in get_args(hint):
            if isinstance(each, typer.models.ParameterInfo):
                texts.append(each.help or "")
    return texts


def words(text: str) -> list[str]:
    """Without what panels and line ends add."""
    return re.sub(r"[│╭╮╰╯─]", " ", text).split()


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", NAMES)
def test_every_word_is_shown_and_no_flag_wants_a_value(
    name: str, width: int, translate_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERMINAL_WIDTH", str(width))
    result = translate_command(name, "--help")
    assert (result.code, result.err) == (0, "")
    shown = words(result.out)
    assert max(map(len, result.out.splitlines())) <= width
    assert not {"<bool>", "<boolean>"} & {each.lower() for each in shown}
    for text in written(name):
        for word in words(text.replace("\\[", "[")):
            assert word in shown, f"{word!r} of {text!r}"


def test_flags_of_the_application_want_no_value(translate_command: Command) -> None:
    out = translate_command("--help").out
    assert "--version" in out
    assert "bool" not in out.lower()
