"""Modules of the user's own, which `run.plugins` or an option names."""

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from translate.errors import UserError


def find_plugin(name: str) -> bool:
    """Whether a module that the user named exists, in the working directory or on Python's path."""
    # The console script, unlike ``python -m``, does not search the working directory.
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):  # of the package that should hold it, or of a malformed name
        return False


def import_plugin(name: str) -> ModuleType:
    """Import a module of ``run.plugins``, also from the working directory. Raises ``UserError``."""
    find_plugin(name)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise UserError(
            f"run.plugins: cannot import {name!r} ({error}); "
            f"it is sought in the working directory and on PYTHONPATH"
        ) from error
