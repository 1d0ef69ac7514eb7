"""Events for TensorBoard."""

from collections.abc import Mapping
from pathlib import Path


class TensorBoard:
    """Writes scalars; what a resumed run goes through again replaces what was written before.

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

    def close(self) -> None:
        self.writer.close()
