"""Events for TensorBoard."""

from collections.abc import Mapping
from pathlib import Path


class TensorBoard:
    """Writes scalars, texts and pictures; what a resumed run goes through again replaces what was there.

    Args:
        directory: of the event files.
        purge_step: optimizer step from which on earlier events are hidden.
    """

    def __init__(self, directory: Path, *, purge_step: int | None = None) -> None:
        from torch.utils.tensorboard import SummaryWriter  # slow to import

        self.writer = SummaryWriter(str(directory), purge_step=purge_step)

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

    def close(self) -> None:
        self.writer.close()
