"""The entry of the ``translate`` command: registers the commands and turns errors into exit codes."""

import gc
import importlib
import os
import signal
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from translate.cli.console import (
    INTERRUPTED,
    SYSTEM_FAILED,
    WRONG_USE,
    print_error,
    print_failure,
    print_notices,
    use_utf_8,
)
from translate.cli.usage import Command, CommandGroup, usage_message
from translate.errors import UserError
from translate.version import __version__

# In the order of `translate --help`. A command is a function in a module of its name, but see KEYWORDS; one
# with subcommands is a package with their modules by name in SUBCOMMANDS and a function that describes it.
# Either may have CONTEXT_SETTINGS for typer, and a GROUP class. No module imports torch at its top.
COMMANDS = (
    "train",
    "resume",
    "guide",
    "backtranslate",
    "text",
    "file",
    "align",
    "evaluate",
    "compare",
    "import",
    "export",
    "serve",
    "prepare",
    "confidence",
    "corpus",
    "settings",
    "doctor",
)
KEYWORDS = {"import": "import_model"}  # names that Python keeps for itself

# Objects between two searches for cycles: importing torch makes hundreds of thousands, which stay.
GARBAGE = 50_000
# Turns of a loop in which a thread of GNU OpenMP waits for the others before it sleeps, in place of 300,000:
# where other programs take the processors, the others are long in coming.
SPINS = "50000"


class _Commands(CommandGroup):
    def list_commands(self, context: Any) -> list[str]:
        return [name for name in COMMANDS if name in self.commands]  # typer lists groups last


def _print_version(asked: bool) -> None:
    if asked:
        print(f"translate {__version__}")
        raise typer.Exit()


def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Train translators, translate, and see which source words each target word looked at."""


def build_app(only: str | None = None) -> typer.Typer:
    """The application with all commands, or with one of them."""
    app = _typer(_Commands, add_completion=True)
    app.callback()(_options)
    for name in COMMANDS:
        if only in (None, name):
            _add(app, f"translate.cli.{KEYWORDS.get(name, name)}", name)
    return app


def _typer(group: type[CommandGroup], *, add_completion: bool = False) -> typer.Typer:
    return typer.Typer(
        cls=group,
        add_completion=add_completion,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"]},
    )


def _add(app: typer.Typer, path: str, name: str) -> None:
    """Add a command of the module ``path`` to the application, with its subcommands if it has any."""
    module: Any = importlib.import_module(path)
    function = getattr(module, KEYWORDS.get(name, name))
    if not hasattr(module, "SUBCOMMANDS"):
        settings = getattr(module, "CONTEXT_SETTINGS", None)
        app.command(name, cls=Command, context_settings=settings)(function)
        return
    group = _typer(getattr(module, "GROUP", CommandGroup))
    group.callback()(function)
    for subcommand, file in module.SUBCOMMANDS.items():
        _add(group, f"{path}.{file}", subcommand)
    app.add_typer(group, name=name)


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return the exit code.

    0: done; 1: nobody reads the output, the system cannot read or write, or a line could not be translated;
    2: the user gave something wrong, described in one line; 130: interrupted. A command may leave with
    another code by ``SystemExit``.
    """
    if arguments and arguments[0] in ("help", "version"):
        arguments = [*arguments[1:], f"--{arguments[0]}"]
    asked = next((name for name in arguments[:1] if name in COMMANDS), None)  # the others take 0.1 s
    try:
        code = build_app(asked)(list(arguments), prog_name="translate", standalone_mode=False)
        sys.stdout.flush()
        if code == INTERRUPTED:  # typer's own answer to Ctrl-C
            print_error("interrupted")
        return code if isinstance(code, int) else 0
    except (UserError, OSError) as error:  # OSError: a full disk, a folder that cannot be written
        return print_failure(error)
    except MemoryError:
        print_error("not enough memory; give a smaller file, a smaller --batch-size or more memory")
        return SYSTEM_FAILED
    except (Exception, KeyboardInterrupt) as error:
        if isinstance(error, typer.Abort) or _follows_interrupt(error):
            print_error("interrupted")
            return INTERRUPTED
        # A usage error. Some versions of typer bring their own copy of click, whose exceptions have no
        # public name.
        if not hasattr(error, "format_message"):
            raise
        print_error(usage_message(error, asked))
        return WRONG_USE


def _follows_interrupt(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind an error: what was being imported may make another one of it."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def main() -> None:
    """Run the command line of this process, and end it."""
    if sys.stdout is None:
        raise SystemExit("error: standard output is closed")
    use_utf_8()
    print_notices()
    gc.set_threshold(GARBAGE)
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", SPINS)  # read when torch is imported
    try:
        raise SystemExit(run(sys.argv[1:]))
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the end is near, and torch would print a traceback
        gc.freeze()  # the end of the process need not visit every object of torch once more


if __name__ == "__main__":
    main()
