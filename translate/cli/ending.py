"""How the process of a command ends: at once, where nothing is left to do."""

import atexit
import os
import sys


class Ending:
    """Ends this process at once, if it has an exit code by then, when all other exit handlers have run.

    Python would go on to clear every module and to unload libraries, which takes 0.1 s after an import of
    torch and has no lasting effect. Exit handlers run in the reverse order of their registration, after all
    threads but daemons have ended. So create this before a command imports what it needs.

    A debugger or a measurement of coverage may have registered earlier: under one, the process ends as
    always.

    Attributes:
        code: the exit code; ``None`` to end as always.
    """

    def __init__(self) -> None:
        self.code: int | None = None
        self.process = os.getpid()
        atexit.register(self._end)

    def _end(self) -> None:
        watched = sys.gettrace() is not None or sys.getprofile() is not None or sys.flags.interactive
        if self.code is None or watched or os.getpid() != self.process:
            return
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except (OSError, ValueError):  # Python tries again, and says so
            return
        os._exit(self.code)
