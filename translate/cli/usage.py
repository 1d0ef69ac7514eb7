"""The form of the command line: what help looks like, and what a usage error says."""

import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from translate.cli.console import WRONG_USE
from translate.config.names import escaped, shorten
from translate.config.names import nearest as nearest_of
from translate.errors import UserError

LONGEST = 400  # characters of a message of typer, which repeats the value


class _PlainHelp:
    """Help that depends on neither the version of typer nor the width of the terminal.

    Args:
        help: paragraphs, which are reflowed.
        epilog: example lines, which are printed unchanged, below everything else.
    """

    def __init__(self, *, help: str | None = None, epilog: str | None = None, **others: Any) -> None:
        paragraphs = (help or "").split("\n\n")
        super().__init__(help="\n\n".join(" ".join(text.split()) for text in paragraphs), **others)  # type: ignore[call-arg]
        self.examples = epilog or ""

    def get_params(self, context: Any) -> list[Any]:
        params: list[Any] = super().get_params(context)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False):
                param.metavar = ""  # newer versions of typer write <bool>
        return params

    def format_help(self, context: Any, formatter: Any) -> None:
        super().format_help(context, formatter)  # type: ignore[misc]
        formatter.write(self.examples)


class Command(_PlainHelp, TyperCommand):
    """A command whose epilog holds examples. An option's path of no characters would be this folder."""

    def parse_args(self, context: Any, arguments: list[str]) -> list[str]:
        empty = {name for name, value in itertools.pairwise(arguments) if not value}
        empty |= {each[:-1] for each in arguments if each.endswith("=")}
        parsed: list[str] = super().parse_args(context, arguments)
        for param in self.params:
            given = context.params.get(param.name)
            paths = given if isinstance(given, list | tuple) else [given]
            if empty & {*param.opts} and any(isinstance(path, Path) for path in paths):
                raise UserError(f"{param.opts[0]}: expected a path, got nothing")
        return parsed


class CommandGroup(_PlainHelp, TyperGroup):
    """A command with subcommands. Without arguments it shows its help."""

    def parse_args(self, context: Any, arguments: list[str]) -> list[str]:
        if not arguments:
            print(self.get_help(context))
            raise typer.Exit(WRONG_USE)
        parsed: list[str] = super().parse_args(context, arguments)
        return parsed

    def resolve_command(self, context: Any, arguments: list[str]) -> Any:
        if arguments[0] not in self.commands:
            near = nearest(arguments[0], self.commands)
            hint = f"; did you mean {near}?" if near else ""
            raise UserError(
                f"no such command {shorten(arguments[0])!r}{hint} (see {context.command_path} --help)"
            )
        return super().resolve_command(context, arguments)


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name that looks most like the given one; ``None`` if none comes near."""
    return nearest_of(name, names)


def usage_message(error: Any) -> str:
    """One line about an error that typer found; empty if the error has no message.

    The attributes tell the kinds of error apart: some versions of typer bring their own copy of click, whose
    exceptions have no public name.
    """
    context = getattr(error, "ctx", None)
    path = "translate" if context is None else context.command_path
    message = str(error.format_message()).replace("Value error, ", "")  # which some versions put first
    if not message:
        return ""
    message = escaped(" ".join(message.splitlines()))
    if len(message) > LONGEST:  # what was given stands in the middle, what was expected at the end
        message = f"{message[: LONGEST // 2]}...{message[-LONGEST // 2 :]}"
    if hasattr(error, "possibilities") and context is not None:
        message = _no_such_option(error.option_name, context)
    elif hasattr(error, "param_type") and getattr(error, "param", None) is not None:
        message = _missing(error.param)
    return f"{message[:1].lower()}{message[1:].rstrip('.')} (see {path} --help)"


def _no_such_option(name: str, context: Any) -> str:
    """The commands of the same group that have the option, or the option that was probably meant."""
    path, group = context.command_path, getattr(context.parent, "command", None)
    siblings = getattr(group, "commands", {})
    group_path = path.rpartition(" ")[0]
    message = f"no such option {shorten(name)} of {path}"
    if name.lstrip("-") in siblings:
        return f"{message}; it is a command: {group_path} {name.lstrip('-')}"
    owners = [other for other, command in siblings.items() if name in _options(command)]
    if owners:
        *others, last = owners
        return f"{message}; it belongs to {group_path} {', '.join(others) + ' and ' if others else ''}{last}"
    near = nearest(name, _options(context.command))
    return f"{message}; did you mean {near}?" if near else message


def _options(command: Any) -> list[str]:
    return [name for param in command.params for name in param.opts if name.startswith("--")]


def _missing(param: Any) -> str:
    """The argument or option that is missing, and what it is."""
    is_option = param.param_type_name == "option"
    name = param.opts[0] if is_option else param.metavar or param.name
    meaning = (getattr(param, "help", None) or "").rstrip(".")
    return f"missing {param.param_type_name} {name}" + (
        f": {meaning[:1].lower()}{meaning[1:]}" if meaning else ""
    )
