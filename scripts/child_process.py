"""The end of a forked process that runs a command, for the scripts that break runs."""

import os
import sys
import traceback
from collections.abc import Callable
from typing import NoReturn


def end_with(command: Callable[[], int | None]) -> NoReturn:
    """Run ``command`` and end this process with its exit code; with 99, and a traceback, if it fails."""
    code = 99
    try:
        code = command() or 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
