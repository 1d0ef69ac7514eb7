"""Warnings for the user that come from where no command is known, as a command prints its own."""

import warnings
from typing import Any

from translate.cli.console import print_warning
from translate.errors import UserNotice


def print_notices() -> None:
    """From now on print each :class:`UserNotice` as a warning of the command; others stay Python's."""
    otherwise = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, UserNotice):
            print_warning(message)
        else:
            otherwise(message, category, *where, **more)

    warnings.showwarning = show
