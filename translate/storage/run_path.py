"""Whether a folder is a run, told before torch is imported and anything is loaded."""

import os
from contextlib import suppress
from pathlib import Path

from translate.errors import UserError

CONFIG = "config.yaml"


def check_is_run(path: Path) -> None:
    """Raise :class:`UserError` if ``path`` is no run directory; opens no file."""
    if not path.is_dir():
        what = "a file, not a run directory" if path.exists() else "no such run directory"
        raise UserError(f"{path}: {what}")
    try:
        with suppress(PermissionError):  # whoever reads the file says so
            os.stat(path / CONFIG)
    except FileNotFoundError as error:
        raise UserError(f"{path}: not a run directory (it has no {CONFIG})") from error
