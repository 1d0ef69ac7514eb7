"""``translate align``: which source words each target word looked at; a subcommand for each way to see it."""

from typing import Any

from translate.cli.align.old_spelling import as_subcommand
from translate.cli.usage import CommandGroup

EXAMPLES = """
Examples:
  translate align runs/mine "I love you ." --out alignment.png
  translate align runs/mine "I love you ." "je t' aime ."
  translate align runs/mine --source test.en --target test.de > test.links
  translate align heads runs/mine "I love you ." --out heads.png
  translate align calibrate runs/mine --source dev.en --target dev.de \\
      --gold dev.gold
"""
SUBCOMMANDS = ("pair", "corpus", "heads", "compare", "symmetrise", "calibrate", "report")


class AlignGroup(CommandGroup):
    """The group of subcommands, which also reads lines that begin with a run."""

    def parse_args(self, context: Any, arguments: list[str]) -> list[str]:
        return super().parse_args(context, as_subcommand(arguments, SUBCOMMANDS))


GROUP = AlignGroup


def align() -> None:
    """Show which source words each target word looked at, and choose the attention that shows it.

    Without the name of a subcommand, RUN SOURCE [TARGET] means pair, and RUN --source FILE --target FILE
    means corpus. A run in a folder named like a subcommand needs a slash: ./pair.
    """
