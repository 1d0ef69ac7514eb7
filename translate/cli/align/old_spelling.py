"""Lines of ``translate align`` without a subcommand: those that begin with a run, and older options."""

import os
import shlex
from collections.abc import Collection
from pathlib import Path

from translate.cli.console import print_note
from translate.cli.usage import nearest
from translate.config.names import shorten
from translate.errors import UserError

# The first option of these that a line has decides its subcommand.
SUBCOMMAND_OF = {
    "--calibrate": "calibrate",
    "--report": "report",
    "--heads": "heads",
    "--with": "compare",
    "--reverse": "symmetrise",
    "--symmetrise": "symmetrise",
    "--source": "corpus",
    "--target": "corpus",
}
CURRENT = ("--source", "--target")  # whose lines are no older spelling
FLAGS = ("--calibrate", "--report", "--heads")  # which the subcommand replaces
RENAMED = {"--symmetrise": "--heuristic"}


def as_subcommand(arguments: list[str], subcommands: Collection[str]) -> list[str]:
    """The line with its subcommand first; prints a note if its spelling is an older one.

    The name of a subcommand is always the subcommand, even if there is a run in a folder of that name. A word
    with a slash is always a run.

    Raises:
        UserError: for a first word that is neither, but looks like a subcommand.
    """
    if not arguments or arguments[0] in ("--help", "-h"):
        return arguments
    first = arguments[0]
    if first in subcommands:
        if Path(first, "config.yaml").exists():
            print_note(f"{first} is a subcommand here; for the run in the folder {first} write ./{first}")
        return arguments
    _check_misspelt(first, subcommands)
    end = arguments.index("--") if "--" in arguments else len(arguments)
    names = [argument.partition("=")[0] for argument in arguments[:end]]
    option = next((option for option in SUBCOMMAND_OF if option in names), None)
    line = [SUBCOMMAND_OF[option] if option else "pair"]
    for name, argument in zip(names, arguments[:end], strict=True):
        if name not in FLAGS:
            line.append(RENAMED.get(name, name) + argument[len(name) :])
    line += arguments[end:]
    if option and option not in CURRENT:
        text = shorten(" ".join(shlex.join(["translate", "align", *line]).split()), 300)
        print_note(f"translate align with {option} is now: {text}")
    return line


def _check_misspelt(word: str, subcommands: Collection[str]) -> None:
    near = nearest(word, subcommands)
    if near and not word.startswith("-") and "/" not in word and not os.path.exists(word):
        raise UserError(
            f"align: no such subcommand or run {shorten(word)!r}; did you mean {near}? "
            f"(see translate align --help)"
        )
