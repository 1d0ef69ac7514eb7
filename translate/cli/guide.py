"""``translate guide``: links from two models and a statistical aligner, taught to a third model."""

from pathlib import Path
from typing import Annotated

import typer

from translate.cli.console import going_on, unbuffer_lines
from translate.cli.options import option
from translate.cli.train import keys_of, note_no_data
from translate.errors import UserError


def guide(
    out: Annotated[Path, option("DIR", "Folder for the links and the runs forward, backward and guided.")],
    overrides: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME=VALUE", help="Settings of all three runs, as of translate train."),
    ] = None,
) -> None:
    """Train both directions, align the corpus with them, and train a model guided by these links.

    A link is one that two of three aligners found: both directions and a statistical aligner.

    An interrupted command continues when you start it again. The links guide the first head of the layer
    training.guided_layer (null: the middle layer). Their loss has the weight training.guided_alignment, which
    is 0.05 if nothing sets it. Without an experiment, settings are chosen as by translate train.

    Examples:
      translate guide --out runs/guided data=multi30k training.max_steps=8000
      translate guide --out runs/mine data=files \\
          data.train.source=train.en data.train.target=train.de
    """
    from translate.config.composer import Composer
    from translate.config.settings import check_config
    from translate.runs.guided_run import guide as train_guided
    from translate.runs.recipes import free_settings

    unbuffer_lines()
    composer, given = Composer(), overrides or []
    keys = keys_of(given)
    if "training.guided_links" in keys:
        raise UserError("training.guided_links: this command makes the links; translate train takes yours")
    config = composer.compose(given, check_config)
    if idle := {"run.name", "run.directory"} & {*keys}:
        raise UserError(f"{min(idle)}: it has no effect on the runs of guide, which lie in --out")
    note_no_data(keys)
    print("three trainings, each as long as is set: forward, backward, and guided by the links of both")
    with going_on():
        code = train_guided(config, out, free_settings(keys, composer.chosen(given)))
    if code:
        raise SystemExit(code)
