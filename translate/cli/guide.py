"""``translate guide``: an aligned corpus from two models, taught to one head of a third; no other tool."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from translate.cli.align_options import Symmetrisation
from translate.cli.console import unbuffer_lines

EXAMPLES = """
Examples:

  translate guide --out runs/guided data=multi30k training.max_steps=8000

  translate guide --out runs/mine data=files data.train.source=train.en data.train.target=train.de
"""


def guide(
    out: Annotated[
        Path, typer.Option(help="Folder of the runs forward, backward and guided, and the links.")
    ],
    overrides: Annotated[
        list[str] | None, typer.Argument(help="Settings as of translate train, for all three runs.")
    ] = None,
    symmetrise: Annotated[
        Literal[Symmetrisation, "majority"],
        typer.Option(
            metavar="NAME",
            help="How the links of both directions become one: majority (what two of three say, of which the "
            "third are links counted in the text), intersection, union, grow-diag, grow-diag-final or "
            "grow-diag-final-and.",
        ),
    ] = "majority",
) -> None:
    """Train both directions, align by both, and train a model whose attention is guided by the links.

    The same command goes on where it was interrupted. The loss has the weight training.guided_alignment, 0.05
    if that is 0, and guides the first head of training.guided_layer, the middle one if that is null.
    """
    from translate.config import compose
    from translate.config.settings import check_config
    from translate.runs.guided_run import guide as train_guided

    unbuffer_lines()
    config = compose(overrides or [], check=check_config)
    code = train_guided(config, out, symmetrisation=symmetrise)
    if code:
        raise SystemExit(code)
