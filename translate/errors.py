"""The exceptions for mistakes in a user's input."""

import importlib
from typing import Any


class UserError(ValueError):
    """An error in a user's input: one clear sentence, without a traceback on the command line.

    The message says where the error is, what came, what was expected and, if it helps, what to do.
    """


class LineError(UserError):
    """An error in one line of many, such as a picture that cannot be read: a stream goes on without it."""


def install(extra: str) -> str:
    """The commands that install the optional packages of an extra of pyproject.toml."""
    return f"make install EXTRAS={extra}, or pip install 'seq2seq-translate[{extra}]'"


def optional(module: str, user: str, extra: str) -> Any:
    """An optional package, imported.

    Args:
        module: of the package.
        user: what needs it, for the message.
        extra: of pyproject.toml, which has it.

    Raises:
        UserError: if it is not installed, or broken.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = module.partition(".")[0].replace("_", "-")
        problem = "is not installed"
        if not f"{module}.".startswith(f"{error.name}.") or not isinstance(error, ModuleNotFoundError):
            problem = f"cannot be imported ({error})"
        raise UserError(f"{user} needs the package {name}, which {problem}; {install(extra)}") from error


class UserNotice(UserWarning):
    """A warning for the user in one sentence, which the command line prints as its own."""
