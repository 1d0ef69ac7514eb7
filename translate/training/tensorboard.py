"""Events for TensorBoard."""

from collections.abc import Mapping
from pathlib import Path


class TensorBoard:
    """Writes scalars; what a resumed run goes through again replaces what was written before.

    Args:
        directory: of the event files.
        purge_step: optimizer step from which earlier events are hidden.
    """

    def __init__(self, directory: Path, *, purge_step: int = 0) -> None:
        from torch.utils.tensorboard import SummaryWriter  # slow to import

        self.writer = SummaryWriter(str(directory), purge_step=purge_step or None)  # type: ignore[no-untyped-call]

    def scalars(self, group: str, values: Mapping[str, float], step: int) -> None:
        """Write ``group/name`` for each value."""
        for name, value in values.items():
            self.writer.add_scalar(f"{group}/{name}", value, step)  # type: ignore[no-untyped-call]

    def close(self) -> None:
        self.writer.close()  # type: ignore[no-untyped-call]
