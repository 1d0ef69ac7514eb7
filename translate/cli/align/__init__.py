"""``translate align``: the source words that target words looked at; a subcommand for every view."""

import os
from typing import Any

from translate.cli.console import print_note
from translate.cli.usage import CommandGroup
from translate.config.names import nearest, shorten
from translate.errors import UserError

# The file of each subcommand, in the order of the help.
SUBCOMMANDS = {
    "pair": "pair",
    "corpus": "corpus",
    "heads": "pair",
    "compare": "pair",
    "symmetrise": "corpus",
    "calibrate": "calibrate",
    "report": "calibrate",
}


class AlignGroup(CommandGroup):
    """The group of subcommands, which also reads lines that begin with a run."""

    def parse_args(self, context: Any, arguments: list[str]) -> list[str]:
        return super().parse_args(context, with_subcommand(arguments))


GROUP = AlignGroup


def align() -> None:
    """Show which source words each target word looked at, and choose the attention that shows it.

    Without the name of a subcommand, RUN SOURCE [TARGET] means pair, and RUN --source FILE --target FILE
    means corpus. A run in a folder named like a subcommand needs a slash: ./pair.

    Examples:
      translate align runs/mine "I love you ." --out alignment.png
      translate align runs/mine "I love you ." "je t' aime ."
      translate align runs/mine --source test.en --target test.de > test.links
      translate align heads runs/mine "I love you ." --out heads.png
      translate align calibrate runs/mine --source dev.en --target dev.de \\
          --gold dev.gold
    """


def with_subcommand(arguments: list[str]) -> list[str]:
    """The line with its subcommand first: ``corpus`` where a run comes with files, otherwise ``pair``.

    Raises:
        UserError: for a first word that is no run and looks like a subcommand.
    """
    if not arguments or arguments[0] in (*SUBCOMMANDS, "--help", "-h"):
        return arguments
    word = arguments[0]
    if (second := "".join(arguments[1:2])) in SUBCOMMANDS:
        print_note(f"{second} is aligned as a sentence; the command is: translate align {second} RUN")
    near = nearest(word, SUBCOMMANDS)
    if near and not word.startswith("-") and "/" not in word and not os.path.exists(word):
        raise UserError(
            f"align: no such subcommand or run {shorten(word)!r}; did you mean {near}? "
            f"(see translate align --help)"
        )
    end = arguments.index("--") if "--" in arguments else len(arguments)
    names = {argument.partition("=")[0] for argument in arguments[:end]}
    files = "--source" in names or ("--target" in names and arguments[1:2] == ["--target"])
    return ["corpus" if files else "pair", *arguments]
