"""``translate align compare``: the heatmaps of several runs for the same words, side by side."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
from translate.cli.options import Run, with_groups
from translate.config.names import listed
from translate.errors import UserError

if TYPE_CHECKING:
    from translate.translator import Translator

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
    from translate.pictures.heatmap import draw

    check_out(out, PICTURES)
    names = run_names([run, *beside])
    translators = {name: machine.load(path) for name, path in zip(names, (run, *beside), strict=True)}
    _check_languages(translators)
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


def run_names(runs: Sequence[Path]) -> list[str]:
    """The names of the runs' folders; the paths as given where two names are equal.

    Raises:
        UserError: if a run is given twice.
    """
    names = [run.resolve().name for run in runs]
    if len({run.resolve() for run in runs}) < len(runs):
        raise UserError(f"align: a run is given twice: {listed(runs)}")
    return names if len(set(names)) == len(names) else [str(run) for run in runs]


def _check_languages(translators: Mapping[str, "Translator"]) -> None:
    """Raise :class:`UserError` if the runs do not translate between the same languages."""
    first, *others = ((name, translator.languages) for name, translator in translators.items())
    for other in others:
        if all(first[1]) and all(other[1]) and first[1] != other[1]:
            facts = [f"{name} translates {' to '.join(languages)}" for name, languages in (first, other)]
            raise UserError(f"align: --with RUN needs the same languages; {', '.join(facts)}")
