"""Completion of command lines: what may stand next, and the scripts that let shells ask for it."""

import os
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from translate.errors import UserError

SHELLS = ("bash", "zsh", "fish")
MAX_RUNS, MAX_DEPTH = 200, 3  # run folders that are listed, and folders below `runs` that are searched
MARK = "# completion of translate"
# Where each shell looks when it starts; fish finds the script by its name.
STARTS = {"bash": ".bashrc", "zsh": ".zshrc"}


def script(shell: str) -> str:
    """The script of a shell that asks for completions."""
    return (files("translate.cli") / "completions" / f"translate.{shell}").read_text(encoding="utf-8")


def install(shell: str) -> str:
    """Write the script of a shell where it is read when a shell starts; gives a line for the user.

    Raises:
        OSError: if it cannot be written.
    """
    home = Path.home()
    if shell == "fish":
        base = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
        place = base / "fish" / "completions" / "translate.fish"
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
        place = base / "translate" / f"translate.{shell}"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(script(shell), encoding="utf-8")
    if shell in STARTS:
        start = home / STARTS[shell]
        written = start.read_text(encoding="utf-8", errors="surrogateescape") if start.exists() else ""
        line = f"[ ! -r {shlex.quote(str(place))} ] || . {shlex.quote(str(place))}  {MARK}"
        if line not in written.splitlines():
            with start.open("a", encoding="utf-8", errors="surrogateescape") as file:
                file.write(f"{'' if not written or written.endswith(chr(10)) else chr(10)}{line}\n")
    return f"{place}: written; it is used in shells that start from now on"


def current_shell(option: str) -> str:
    """The user's shell, for an option that does not name it.

    Raises:
        UserError: if it is none of those that are known.
    """
    name = Path(os.environ.get("SHELL", "")).name
    if name not in SHELLS:
        raise UserError(f"{option}: say for which shell: {option} {' or '.join(SHELLS)}")
    return name


@dataclass(frozen=True)
class Line:
    """What has been typed.

    Attributes:
        words: those that are complete, without the name of the program.
        current: the beginning of the next one.
    """

    words: tuple[str, ...]
    current: str

    @classmethod
    def read(cls, text: str) -> "Line":
        """The words of a line up to the cursor."""
        try:
            words = shlex.split(text)
        except ValueError:  # a quote that is still open
            words = text.replace("'", "").replace('"', "").split()
        current = words.pop() if words and not text[-1:].isspace() else ""
        return cls(tuple(words[1:]), current)


def completions(text: str, root: Any) -> list[str]:
    """Words that may stand at the end of a line; none where the shell should offer files.

    Args:
        text: the line up to the cursor, with the name of the program.
        root: the command of the program.
    """
    line = Line.read(text)
    command, rest = _command(root, line.words)
    found = _of_train(rest, line.current) if command.name == "train" else None
    if found is None:
        found = _of_command(command, rest, line.current)
    return [word for word in dict.fromkeys(found) if word.startswith(line.current)]


def _command(root: Any, words: Sequence[str]) -> tuple[Any, list[str]]:
    """The command that the words name, and those behind its name."""
    command, rest = root, list(words)
    while hasattr(command, "commands"):
        index = next((i for i, word in enumerate(rest) if word in command.commands), None)
        if index is None:
            break
        command, rest = command.commands[rest[index]], rest[index + 1 :]
    return command, rest


def _of_train(words: Sequence[str], current: str) -> Iterable[str] | None:
    """Hydra's own options and their values, which the command itself does not list."""
    from translate.cli.train import CHOICES, SWITCHES, VALUES

    valued = {flag: flags[0] for flags in VALUES for flag in flags}
    if words and words[-1] in valued:
        return CHOICES.get(valued[words[-1]], ())
    return [flags[0] for flags in (*SWITCHES, *VALUES)] if current.startswith("-") else None


def _of_command(command: Any, words: Sequence[str], current: str) -> Iterable[str]:
    option = _named(command, words[-1]) if words else None
    if option is not None and _takes_value(option):
        return _values(option, words, current)
    if current.startswith("-"):
        return [*_options(command), "--help"]
    if hasattr(command, "commands"):
        return list(command.commands)
    argument = _argument(command, words)
    return () if argument is None else _values(argument, words, current)


def _options(command: Any) -> Iterator[str]:
    for param in command.params:
        if param.param_type_name == "option" and not param.hidden:
            yield from (name for name in (*param.opts, *param.secondary_opts) if name.startswith("--"))


def _named(command: Any, name: str) -> Any:
    return next((param for param in command.params if name in param.opts), None)


def _takes_value(param: Any) -> bool:
    return not getattr(param, "is_flag", False) and not getattr(param, "count", False)


def _argument(command: Any, words: Sequence[str]) -> Any:
    """The argument whose turn it is; the last one may take several words."""
    arguments = [param for param in command.params if param.param_type_name == "argument"]
    taken, is_value = 0, False
    for word in words:
        option = None if is_value else _named(command, word)
        taken += not is_value and not word.startswith("-")
        is_value = option is not None and _takes_value(option)
    for param in arguments:
        if param.nargs == -1 or taken < param.nargs:
            return param
        taken -= param.nargs
    return None


def _values(param: Any, words: Sequence[str], current: str) -> Iterable[str]:
    """What an option or an argument may be; nothing for files and numbers."""
    if choices := _choices(param):
        return choices
    from translate.cli import override_completion

    match (param.metavar or "").strip("[]."):
        case "RUN":
            name, sign, _ = current.partition("=")  # translate serve takes NAME=RUN
            return (f"{name}{sign}{each}" for each in runs()) if sign else runs()
        case "NAME=VALUE" if param.param_type_name == "argument":
            return override_completion.overrides(words, current)
        case "GROUP=CHOICE":
            found = override_completion.groups()
            return (f"{group}={choice}" for group, choices in found.items() for choice in choices)
        case "SECTION":
            return (*override_completion.sections(), "experiment")
        case "NAME" if param.name == "data":
            return override_completion.groups()["data"]
    return ()


def _choices(param: Any) -> list[str]:
    """The values of a parameter that has a fixed number of them, wherever this version of typer has them."""
    if hasattr(param, "type"):
        return [str(each) for each in getattr(param.type, "choices", ())]
    waiting, found = [getattr(getattr(param, "type_descriptor", None), "annotation", None)], list[str]()
    while waiting:
        annotation = waiting.pop()
        is_literal = get_origin(annotation) is Literal
        (found if is_literal else waiting).extend(get_args(annotation))
    return found


def runs() -> Iterator[str]:
    """Run folders below ``runs`` in the working directory."""
    found = 0
    waiting = [(Path("runs"), 0)]
    while waiting and found < MAX_RUNS:
        place, depth = waiting.pop(0)
        try:
            inner = sorted(
                each for each in place.iterdir() if each.is_dir() and not each.name.startswith(".")
            )
        except OSError:
            continue
        for each in inner:
            if (each / "config.yaml").is_file():
                found += 1
                yield str(each)
            elif depth < MAX_DEPTH:
                waiting.append((each, depth + 1))
