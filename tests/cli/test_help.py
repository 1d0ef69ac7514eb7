"""`--help` shows the text as it was written, and fits into 80 columns."""

import inspect
import re
from collections.abc import Iterator
from typing import get_args, get_type_hints

import pytest
import typer

from tests.cli.commands import Command
from translate.cli.main import build_app


def described(function: object) -> list[str]:
    """The paragraphs of a command's docstring, and its examples."""
    text, example, lines = (inspect.getdoc(function) or "").partition("\n\nExample")
    return [text, f"{example.lstrip()}{lines}\n" if example else ""]


def written_texts(
    app: typer.Typer, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """Each command line and the texts of its help: docstring, examples, arguments and options."""
    for command in app.registered_commands:
        function = command.callback
        assert function is not None
        assert command.name is not None
        texts = described(function)
        for hint in get_type_hints(function, include_extras=True).values():
            for part in get_args(hint):
                if isinstance(part, typer.models.ParameterInfo):
                    texts.append(part.help or "")
        yield (*path, command.name), texts
    for group in app.registered_groups:
        assert group.name is not None
        assert group.typer_instance is not None
        assert group.typer_instance.registered_callback is not None
        callback = group.typer_instance.registered_callback
        assert callback.callback is not None
        yield (*path, group.name), described(callback.callback)
        yield from written_texts(group.typer_instance, (*path, group.name))


# Hydra writes the help of train.
WRITTEN = {path: texts for path, texts in written_texts(build_app()) if path != ("train",)}


def words(text: str) -> list[str]:
    """Without what panels and line ends add."""
    return re.sub(r"[│╭╮╰╯─]", " ", text).split()


@pytest.mark.parametrize("path", WRITTEN, ids=" ".join)
def test_every_word_is_shown_in_80_columns_and_no_flag_wants_a_value(
    path: tuple[str, ...], translate_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    result = translate_command(*path, "--help")
    assert (result.code, result.err) == (0, "")
    shown = words(result.out)
    assert max(map(len, result.out.splitlines())) <= 80
    assert "\x1b" not in result.out
    assert not {"<bool>", "<boolean>"} & {word.lower() for word in shown}
    for text in WRITTEN[path]:
        for word in words(text.replace("\\[", "[")):
            assert word in shown, f"{word!r} of {text!r}"
    examples = WRITTEN[path][1]
    assert examples in result.out + "\n"
    for line in examples.splitlines():
        assert line.startswith(("Example", "  ")) or not line


@pytest.mark.parametrize("line", [[], ["align"]])
def test_a_group_without_a_command_shows_its_help(line: list[str], translate_command: Command) -> None:
    result = translate_command(*line)
    assert (result.code, result.err) == (2, "")
    assert result.out.rstrip("\n") == translate_command(*line, "--help").out.rstrip("\n")
    assert translate_command("help", *line) == translate_command(*line, "--help")
