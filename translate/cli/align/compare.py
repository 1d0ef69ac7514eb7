"""``translate align compare``: the heatmaps of several runs for the same words, side by side."""

from pathlib import Path
from typing import Annotated

import typer

from translate.cli.align.options import (
    AlignMachine,
    PictureOptions,
    Source,
    Target,
    WeightOptions,
    translated,
)
from translate.cli.align.output import PICTURES, check_out
from translate.cli.options import Run, check_languages, run_names, with_groups
from translate.cli.picture_input import check_words_alone

EXAMPLES = """
Example:
  translate align compare runs/mine "I love you ." --with runs/other \\
      --out both.png
"""


@with_groups
def compare(
    run: Run,
    source: Source,
    target: Target = None,
    *,
    beside: Annotated[
        list[Path],
        typer.Option("--with", metavar="RUN", help="A run to draw beside it; may be given several times."),
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Picture to write: .png, .pdf or .svg.")],
    weighting: WeightOptions,
    picture: PictureOptions,
    machine: AlignMachine,
) -> None:
    """Draw the heatmaps of several runs for the same sentence pair, side by side.

    Without TARGET the first run translates SOURCE, and all runs show the alignment of that translation.
    """
    from translate.figures.heatmap import draw

    check_out(out, PICTURES)
    names = run_names([run, *beside], "align")
    translators = {name: machine.load(path) for name, path in zip(names, (run, *beside), strict=True)}
    for translator in translators.values():
        check_words_alone("align compare", translator, source)
    languages = {name: translator.languages for name, translator in translators.items()}
    check_languages(languages, "align: --with RUN")
    (best, *_), _ = translated(translators[names[0]], source, target)
    alignments = [
        alignment
        for translator in translators.values()
        for alignment in weighting.align(translator, [(source, best.text)], machine)
    ]
    drawn = draw(
        alignments,
        out,
        titles=names,
        values=picture.values,
        gold=[picture.known_links(alignment) for alignment in alignments],
        colour_map=picture.colour_map,
    )
    print(f"heatmaps of {len(alignments)} runs written to {drawn}")
