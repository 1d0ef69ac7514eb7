"""Weights & Biases, if it is installed and asked for."""

import importlib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from translate.errors import UserError

PACKAGE = "wandb"


def check_installed(project: str) -> None:
    """Raise :class:`UserError` where the package is missing."""
    if find_spec(PACKAGE) is None:
        raise UserError(
            f"training.wandb={project}: Weights & Biases is not installed; pip install wandb, or leave "
            "training.wandb=null (TensorBoard is always written)"
        )


class WeightsAndBiases:
    """Tells a project of Weights & Biases what TensorBoard is told; a resumed run goes on in the same place.

    Args:
        project: where the run appears.
        name: of the run.
        config: its configuration.
        directory: for the files that ``wandb`` keeps.
    """

    def __init__(self, project: str, name: str, config: Mapping[str, Any], directory: Path) -> None:
        self.wandb = importlib.import_module(PACKAGE)
        directory.mkdir(parents=True, exist_ok=True)
        known = directory / "id"
        identifier = known.read_text(encoding="utf-8") if known.exists() else self.wandb.util.generate_id()
        known.write_text(identifier, encoding="utf-8")
        self.run = self.wandb.init(
            project=project, name=name, id=identifier, resume="allow", config=dict(config), dir=str(directory)
        )
        # A resumed run goes through some steps again, which W&B's own step counter would refuse.
        self.run.define_metric("step")
        self.run.define_metric("*", step_metric="step")

    def scalars(self, group: str, values: Mapping[str, float], step: int) -> None:
        """Log ``group/name`` for each value."""
        self.run.log({f"{group}/{name}": value for name, value in values.items()} | {"step": step})

    def text(self, name: str, markdown: str, step: int) -> None:
        """Log a text, as it is."""
        self.run.log({name: self.wandb.Html(f"<pre>{markdown}</pre>"), "step": step})

    def picture(self, name: str, path: Path, step: int) -> None:
        """Log a PNG file."""
        self.run.log({name: self.wandb.Image(str(path)), "step": step})

    def close(self) -> None:
        self.run.finish()
