"""Boards that show the curves, texts and pictures of a run: TensorBoard, Weights & Biases."""

import importlib
import threading
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from translate.errors import UserError

PACKAGE = "wandb"


class Board(Protocol):
    """Shows what a run reports."""

    def scalars(self, group: str, values: Mapping[str, float], step: int) -> None: ...

    def text(self, name: str, markdown: str, step: int) -> None: ...

    def picture(self, name: str, path: Path, step: int) -> None: ...

    def close(self) -> None: ...


class TensorBoard:
    """Writes scalars, texts and pictures; the steps that a resumed run repeats replace the earlier ones.

    Args:
        directory: for the event files.
        purge_step: earlier events from this optimizer step on are hidden.
    """

    def __init__(self, directory: Path, *, purge_step: int | None = None) -> None:
        from torch.utils.tensorboard import SummaryWriter  # slow to import

        self._others = set(threading.enumerate())
        self._show_error = threading.excepthook
        threading.excepthook = self._failed
        try:
            self.writer = SummaryWriter(str(directory), purge_step=purge_step)
        except OSError:
            threading.excepthook = self._show_error
            raise

    def scalars(self, group: str, values: Mapping[str, float], step: int) -> None:
        """Write ``group/name`` for each value."""
        for name, value in values.items():
            self.writer.add_scalar(f"{group}/{name}", value, step)

    def text(self, name: str, markdown: str, step: int) -> None:
        """Write a text."""
        self.writer.add_text(name, markdown, step)

    def picture(self, name: str, path: Path, step: int) -> None:
        """Show a PNG file."""
        from matplotlib.image import imread

        self.writer.add_image(name, imread(path), step, dataformats="HWC")

    def _failed(self, failure: threading.ExceptHookArgs) -> None:
        """The writer's thread prints no traceback: its error is raised by the next write, or when closing."""
        if failure.thread in self._others or not issubclass(failure.exc_type, OSError):
            self._show_error(failure)

    def close(self) -> None:
        try:
            self.writer.close()
        finally:
            threading.excepthook = self._show_error


def check_installed(project: str) -> None:
    """Raise :class:`UserError` if the package of Weights & Biases is missing."""
    if find_spec(PACKAGE) is None:
        raise UserError(
            f"training.wandb={project}: Weights & Biases is not installed; pip install wandb, or leave "
            "training.wandb=null (TensorBoard is always written)"
        )


class WeightsAndBiases:
    """Sends to a project of Weights & Biases what TensorBoard shows; a resumed run continues its page.

    Args:
        project: in which the run appears.
        name: of the run.
        config: its configuration.
        directory: for the files of ``wandb``.
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
        # A resumed run repeats some steps, which W&B's own step counter would refuse.
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
