"""``translate align heads``: the attention of every layer and head for one pair, side by side."""

from pathlib import Path
from typing import Annotated

import typer

from translate.cli.align.options import Source, Target, Whitespace, check_colours, translated
from translate.cli.align.output import PICTURES, check_out
from translate.cli.options import MachineOptions, Run, with_groups
from translate.cli.picture_input import check_words_alone

EXAMPLES = """
Example:
  translate align heads runs/mine "I love you ." "je t' aime ." --out heads.svg
"""


@with_groups
def heads(
    run: Run,
    source: Source,
    target: Target = None,
    *,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Picture to write: .png, .pdf or .svg.")],
    colours: Annotated[
        str, typer.Option(metavar="NAME", help="Colour map: gray, gray_r, viridis, cividis ...")
    ] = "gray",
    whitespace: Whitespace = False,
    machine: MachineOptions,
) -> None:
    """Draw the attention of every layer and head for one sentence pair, side by side.

    A frame marks the heads that calibration chose. Without TARGET the model translates SOURCE.
    """
    from translate.alignment.views import draw_heads_of

    check_out(out, PICTURES)
    check_colours(colours)
    translator = machine.load(run)
    check_words_alone("align heads", translator, source)
    (best, *_), _ = translated(translator, source, target)
    pair = translator.encode_pair(source, best.text, whitespace=whitespace)
    drawn = draw_heads_of(translator.model, pair, translator.choice, out, colour_map=colours)
    print(f"heads written to {drawn}")
