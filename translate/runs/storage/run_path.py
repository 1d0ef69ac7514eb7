"""Whether a folder is a run, told before torch is imported and anything is loaded."""

import os
from contextlib import suppress
from itertools import islice
from pathlib import Path

from translate.config.names import did_you_mean, nearest
from translate.errors import UserError

CONFIG = "config.yaml"
MOST = 1000  # folders among which a similar name is looked for


def check_is_run(path: Path) -> None:
    """Raise :class:`UserError` if ``path`` is no run directory; opens no file."""
    if not path.is_dir():
        what = "a file, not a run directory" if path.exists() else "no such run directory"
        near = None if path.exists() else _neighbour(path)
        raise UserError(f"{path}: {what}{did_you_mean(near)}")
    try:
        with suppress(PermissionError):  # whoever reads the file says so
            os.stat(path / CONFIG)
    except FileNotFoundError as error:
        raise UserError(f"{path}: not a run directory (it has no {CONFIG})") from error


def is_run(path: Path) -> bool:
    """Whether ``path`` is a folder with the configuration of a run."""
    with suppress(OSError, ValueError):  # longer than a name can be, or with a null character
        return (path / CONFIG).is_file()
    return False


def _neighbour(path: Path) -> str | None:
    """The run beside a missing one whose name is most like its own."""
    with suppress(OSError):
        beside = islice(path.parent.iterdir(), MOST)
        near = nearest(path.name, [each.name for each in beside if is_run(each)])
        return None if near is None else str(path.parent / near)
    return None
