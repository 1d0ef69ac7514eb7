"""The entry of the ``translate`` command: registers the commands, and turns errors into exit codes."""

import difflib
import importlib
import importlib.util
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from translate.cli.console import (
    INTERRUPTED,
    READER_GONE,
    SYSTEM_FAILED,
    WRONG_USE,
    print_error,
    silence_stdout,
)
from translate.errors import UserError
from translate.version import __version__

# In the order of `translate --help`. Each is a function in a file of its name, with EXAMPLES and
# CONTEXT_SETTINGS for typer if it has any; none of the files imports torch at its top.
COMMANDS = (
    "train",
    "guide",
    "text",
    "align",
    "evaluate",
    "compare",
    "export",
    "serve",
    "corpus",
    "settings",
    "doctor",
)


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


class _PlainFlags:
    """Has ``--help`` show a flag as one: newer versions of typer say that it takes a <bool>."""

    def get_params(self, context: Any) -> list[Any]:
        params: list[Any] = super().get_params(context)  # type: ignore[misc]
        for each in params:
            if getattr(each, "is_flag", False):
                each.metavar = ""
        return params


class _Command(_PlainFlags, TyperCommand):
    pass


class _Group(_PlainFlags, TyperGroup):
    pass


def build_app() -> typer.Typer:
    """The application with every command whose file exists."""
    app = typer.Typer(
        cls=_Group,
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    app.callback()(_options)
    for name in COMMANDS:
        if importlib.util.find_spec(f"translate.cli.{name}") is not None:
            module: Any = importlib.import_module(f"translate.cli.{name}")
            settings, examples = (getattr(module, name, None) for name in ("CONTEXT_SETTINGS", "EXAMPLES"))
            app.command(name, cls=_Command, context_settings=settings, epilog=examples)(getattr(module, name))
    return app


def run(arguments: Sequence[str]) -> int:
    """Run a command line; returns the exit code.

    0: done; 2: what the user gave is wrong, said in one line; 130: interrupted; 1: nobody reads the output,
    or the system cannot read or write something.
    A command may leave with a code of its own by ``SystemExit``.
    """
    try:
        code = build_app()(list(arguments), prog_name="translate", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except UserError as error:
        print_error(error)
        return WRONG_USE
    except (KeyboardInterrupt, typer.Abort):
        print_error("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        silence_stdout()
        return READER_GONE
    except OSError as error:  # a full disk, a folder that cannot be written
        where = "" if error.filename is None else f"{error.filename}: "
        print_error(f"{where}{error.strerror or error}")
        try:
            sys.stdout.flush()
        except OSError:
            silence_stdout()
        return SYSTEM_FAILED
    except Exception as error:
        # click's errors of usage; typer brings its own copy of click, so they have no importable name
        format_message = getattr(error, "format_message", None)
        if format_message is None:
            raise
        _print_usage_error(error, format_message())
        return WRONG_USE


def _print_usage_error(error: Any, message: str) -> None:
    message = message.replace("Value error, ", "")  # which newer versions of typer put before the reason
    if not message:  # a command without arguments, whose help has been printed
        return
    option, possible = getattr(error, "option_name", None), getattr(error, "possibilities", None)
    if option and possible:
        near = difflib.get_close_matches(option, possible, n=1, cutoff=0)[0]
        message = f"No such option {option}; did you mean {near}?"
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "translate"
    print_error(f"{message[:1].lower()}{message[1:].rstrip('.')} (see {path} --help)")


def main() -> None:
    """Entry point of the console script."""
    if sys.stdout is None:
        raise SystemExit("error: standard output is closed")
    raise SystemExit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
