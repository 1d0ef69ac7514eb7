"""``translate resume``: a run goes on with its own settings, from its last checkpoint."""

from typing import Annotated

import typer

from translate.cli.options import Run
from translate.cli.train import run_job


def resume(
    run: Run,
    overrides: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME=VALUE]...", help="Settings that differ from now on.")
    ] = None,
) -> None:
    """Go on with a run that was interrupted, or give a finished one more steps or time.

    Its settings are those of its config.yaml. Those that the next steps depend on cannot be changed;
    training.max_steps, training.max_time, training.validate_every and the like can.

    Examples:
      translate resume runs/first
      translate resume runs/first training.max_steps=4000
    """
    from translate.runs.start import config_to_resume

    run_job(config_to_resume(run, overrides or []))
