"""The form of the command line: what help looks like, and what a usage error says."""

import itertools
import re
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from translate.cli.console import WRONG_USE
from translate.config.names import OTHER_NAMES, did_you_mean, escaped, nearest, shorten
from translate.errors import UserError

LONGEST = 400  # characters of a message of typer, which repeats the value
# What translate text does without such options.
STREAMS = {"--source": "reads standard input: < FILE", "--out": "writes to standard output: > FILE"}
OTHER_COMMANDS = {"translate": "text", "predict": "text", "infer": "text", "continue": "resume"}
OTHER_COMMANDS |= {"generate": "text", "score": "evaluate", "test": "evaluate", "plot": "align"}
OTHER_COMMANDS |= dict.fromkeys(("fine-tune", "finetune", "fit"), "train")


class _PlainHelp:
    """Help that depends on neither the version of typer nor the width of the terminal.

    Args:
        help: paragraphs, which are reflowed; then perhaps examples, printed unchanged below everything else.
    """

    def __init__(self, *, help: str | None = None, **others: Any) -> None:
        text, example, lines = (help or "").partition("\n\nExample")
        paragraphs = text.split("\n\n")
        super().__init__(help="\n\n".join(" ".join(text.split()) for text in paragraphs), **others)  # type: ignore[call-arg]
        self.examples = f"\nExample{lines}\n" if example else ""

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
    """A command whose paths are not empty, and whose options are given once."""

    def parse_args(self, context: Any, arguments: list[str]) -> list[str]:
        empty = {name for name, value in itertools.pairwise(arguments) if not value}
        empty |= {argument[:-1] for argument in arguments if argument.endswith("=")}
        named = arguments[: arguments.index("--")] if "--" in arguments else arguments
        names = [argument.partition("=")[0] for argument in named]
        parsed: list[str] = super().parse_args(context, arguments)
        for param in self.params:
            flag_or_several = any(getattr(param, name, False) for name in ("is_flag", "multiple"))
            if not flag_or_several and sum(map(names.count, param.opts)) > 1:
                raise UserError(f"{param.opts[0]}: it is given twice, and only the last would count")
            given = context.params.get(param.name)
            paths = given if isinstance(given, list | tuple) else [given]
            if empty & {*param.opts} and any(isinstance(path, Path) for path in paths):
                # Path("") would be the working directory.
                raise UserError(f"{param.opts[0]}: expected a path, got nothing")
        return parsed


class CommandGroup(_PlainHelp, TyperGroup):
    """A command with subcommands. Without arguments it shows its help."""

    def parse_args(self, context: Any, arguments: list[str]) -> list[str]:
        if not arguments and not context.resilient_parsing:
            print(self.get_help(context))
            raise typer.Exit(WRONG_USE)
        return super().parse_args(context, arguments)

    def resolve_command(self, context: Any, arguments: list[str]) -> Any:
        if arguments[0] not in self.commands and not context.resilient_parsing:  # of completion
            other_name = OTHER_COMMANDS.get(arguments[0])
            near = other_name if other_name in self.commands else nearest(arguments[0], self.commands)
            hint = did_you_mean(near)
            raise UserError(
                f"no such command {shorten(arguments[0])!r}{hint} (see {context.command_path} --help)"
            )
        return super().resolve_command(context, arguments)


def usage_message(error: Any, command: str | None = None) -> str:
    """One line about an error that typer found in ``command``; empty if the error has no message.

    The attributes tell the kinds of error apart: some versions of typer bring their own copy of click, whose
    exceptions have no public name.
    """
    context, cause = getattr(error, "ctx", None), error.__cause__
    path = context.command_path if context else " ".join(filter(None, ("translate", command)))
    message = str(error.format_message()).replace("Value error, ", "")  # which some versions put first
    if not message:
        return ""
    message = escaped(" ".join(message.splitlines()))
    if len(message) > LONGEST:  # the value is in the middle, and what was expected at the end
        message = f"{message[: LONGEST // 2]}...{message[-LONGEST // 2 :]}"
    if hasattr(error, "possibilities") and context is not None:
        message = _no_such_option(error.option_name, context)
    elif hasattr(error, "param_type") and getattr(error, "param", None) is not None:
        message = _missing(error.param)
    elif hasattr(cause, "errors") and (expected := _expected_number(cause.errors()[0], error.param)):
        message = f"{error.param.opts[0]}: expected {expected}, got {shorten(cause.errors()[0]['input'])}"
    elif "unexpected extra argument" in message and context and "--source" in _options(context.command):
        message += "; files are given by name, as --source FILE"
        if "--reference" in _options(context.command):
            message += ", and several runs to translate compare"
    elif "unexpected extra argument" in message and context and "align" in path:
        message += "; a sentence of several words is put in quotes"
        message += ", a further run is --with RUN" * ("--with" in _options(context.command))
    elif "' is not one of '" in message:
        given, *choices = re.findall(r"'([^']*)'", message.partition(": ")[2])
        initials = {"".join(word[:1] for word in choice.split("-")): choice for choice in choices}  # gdfa
        initials |= {"hf": "huggingface", "ct2": "ctranslate2"}
        message = message.rstrip(".") + did_you_mean(initials.get(given) or nearest(given, choices))
    return f"{message[:1].lower()}{message[1:].rstrip('.')} (see {path} --help)"


def _no_such_option(name: str, context: Any) -> str:
    """The message for an unknown option: the commands that have it, or the option that was probably meant."""
    path, group = context.command_path, getattr(context.parent, "command", None)
    siblings = getattr(group, "commands", {})
    group_path = path.rpartition(" ")[0]
    message = f"no such option {shorten(name)} of {path}"
    own, given = _options(context.command), name.replace("_", "-")
    ours = next((ours for ours, theirs in OTHER_NAMES.items() if given in theirs), given)
    if name.lstrip("-") in siblings and not nearest(name, own, cutoff=0.8):
        return f"{message}; it is a command: {group_path} {name.lstrip('-')}"
    owners = [other for other, command in siblings.items() if ours in _options(command)]
    if owners and ours not in own:
        it, them = "it" if ours == name else ours, " and ".join(", ".join(owners).rsplit(", ", 1))
        return f"{message}; {it} belongs to {group_path} {them}"
    arguments = [param for param in context.command.params if param.param_type_name == "argument"]
    metavars = [param.metavar or "" for param in arguments]
    for metavar in metavars:
        if "NAME=VALUE" in metavar:
            return f"{message}; settings are written NAME=VALUE, such as training.max_time=600"
        if (argument := name.lstrip("-").upper()) in re.findall(r"\w+", metavar):
            return f"{message}; {argument} stands without a name: {path} {' '.join(metavars)}"
    if path.endswith(" text") and ours in STREAMS:
        return f"{message}; it {STREAMS[ours]}"
    # Every two options begin with the same dashes.
    return message + did_you_mean(ours if ours in own else nearest(name, own, cutoff=0.8))


def _options(command: Any) -> list[str]:
    return [name for param in command.params for name in param.opts if name.startswith("--")]


def _expected_number(found: Any, param: Any) -> str:
    """The number that an option expects, by an error of pydantic, with which newer versions of typer check.

    Empty for an error about something else.
    """
    kind = found["type"].partition("_")[0]
    if kind not in ("greater", "less"):
        return {"int": "an integer", "float": "a number"}.get(kind, "")
    bounds = {"at least": param.min, "at most": param.max}
    if None in bounds.values():
        return " ".join(f"{words} {bound:,}" for words, bound in bounds.items() if bound is not None)
    return f"{param.min:,} to {param.max:,}"


def _missing(param: Any) -> str:
    """The message for a missing argument or option, with its meaning."""
    is_option = param.param_type_name == "option"
    name = param.opts[0] if is_option else param.metavar or param.name
    meaning = (getattr(param, "help", None) or "").rstrip(".")
    return f"missing {param.param_type_name} {name}" + (
        f": {meaning[:1].lower()}{meaning[1:]}" if meaning else ""
    )
