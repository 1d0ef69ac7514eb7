"""``translate align calibrate``: choose and store the attention that a run shows as the alignment."""

import json
from pathlib import Path
from typing import Annotated

import typer

from translate.cli.align.judged_pairs import JudgedPairs
from translate.cli.align.options import AlignMachine, note_context
from translate.cli.console import print_note
from translate.cli.options import AsJson, Run, with_groups
from translate.errors import UserError

EXAMPLES = """
Examples:
  translate align calibrate runs/mine
  translate align calibrate runs/mine --source dev.en --target dev.de \\
      --gold dev.gold
  translate align calibrate runs/en-de --reverse runs/de-en
"""


@with_groups
def calibrate(
    run: Run,
    *,
    pairs: JudgedPairs,
    reverse: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Run of the opposite direction: choose by agreement with it."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a choice made with gold links by one made without.")
    ] = False,
    as_json: AsJson = False,
    machine: AlignMachine,
) -> None:
    """Choose layer, heads, shift and threshold again, and store the choice with the run.

    With gold links the lowest AER wins. Without them, agreement with the run of --reverse decides, or, if
    there is none, how consistent the links are.
    """
    from translate.runs.calibration import check_replaceable, choice_lines, choose_alignment, store
    from translate.runs.load import read_settings
    from translate.runs.run_directory import RunDirectory

    if pairs.gold is not None and reverse is not None:
        raise UserError("align: gold links decide alone; leave out --gold or --reverse")
    directory, plugins = RunDirectory(run), machine.plugin or []
    settings = read_settings(directory, plugins)
    development = pairs.read(run, plugins)
    check_replaceable(directory, development, force=force)
    if reverse is not None and development.golds is not None:
        print_note(f"{development.name} has gold links, which decide alone; --reverse has no effect")
        reverse = None
    translator = machine.load(run)
    note_context(translator, known=development.context is not None)
    other = None if reverse is None else machine.load(reverse)
    chosen = choose_alignment(
        translator, development, settings.alignment, other, batch_size=machine.batch_size
    )
    store(directory, chosen, translator)
    if as_json:
        print(json.dumps(chosen))
    else:
        print(*choice_lines(chosen), f"stored in {directory.alignment}", sep="\n")
