"""Reading files that a stranger may have written: bounded in size, nesting and time, and free of code."""

import hashlib
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from translate.config.names import shorten
from translate.errors import UserError

MAX_BYTES = 1 << 20  # of a configuration, a choice or a description
MAX_DEPTH = 32  # sections within sections


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc] # libyaml if it is there
    """PyYAML's safe loader; of a name that a section has twice it would keep the last value alone."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        """The section of a node.

        Raises:
            yaml.constructor.ConstructorError: for a name that stands there twice.
        """
        seen = set()
        for key, _ in getattr(node, "value", ()):
            if isinstance(key.value, str):
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"{shorten(key.value)} stands there twice", key.start_mark
                    )
                seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


@contextmanager
def explained(saying: str, *kinds: type[Exception]) -> Iterator[None]:
    """Raise an error of these kinds in the block as a :class:`UserError`: ``saying``, and the reason.

    A :class:`UserError` of the block, which is a ``ValueError``, says enough.
    """
    try:
        yield
    except UserError:
        raise
    except kinds as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise UserError(f"{saying} ({reason or shorten(error)})") from error


def read_bounded(
    path: Path, *, root: Path | None = None, limit: int = MAX_BYTES, expected: str = ""
) -> bytes:
    """The content of a regular file of at most ``limit`` bytes.

    Args:
        path: the file; a link is followed if it stays below ``root``.
        root: the folder that it must lie in once links are resolved; anywhere if ``None``.
        limit: bytes.
        expected: the file that the user should have, for the message if there is none.
    Raises:
        FileNotFoundError: if there is no file, and ``expected`` does not say which.
        UserError: for a FIFO, a device, a folder or another special file, a file that is too large or lies
            outside ``root``, or one that cannot be read. Nothing of these is read, so that nothing blocks.
    """
    try:
        descriptor = _open_regular(path, root)
    except FileNotFoundError as error:
        if not expected:
            raise
        raise UserError(f"{path}: no such file; expected {expected}") from error
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise UserError(f"{path}: larger than {limit:,} bytes; expected a smaller file")
    return content


def check_regular(path: Path, *, root: Path | None = None) -> None:
    """Raise the errors of :func:`read_bounded` for a file that other code is about to read."""
    os.close(_open_regular(path, root))


def checksum(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _open_regular(path: Path, root: Path | None) -> int:
    with explained(f"{path}: cannot be read", OSError, RuntimeError):  # Python's error for links in a circle
        inside = root is None or path.resolve().is_relative_to(root.resolve())
    if not inside:
        raise UserError(f"{path}: it is a link to a file outside of {root}; expected a file inside it")
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a FIFO would block
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UserError(f"{path}: expected a regular file, got a folder, a pipe or a device")
    return descriptor


def read_json(path: Path, *, root: Path | None = None, limit: int = MAX_BYTES, expected: str = "") -> Any:
    """The value of a JSON file; errors as :func:`read_bounded`, and ``UserError`` if it is damaged."""
    content = read_bounded(path, root=root, limit=limit, expected=expected)
    try:
        return json.loads(content.decode("utf-8"))
    except RecursionError as error:
        raise UserError(f"{path}: nested too deeply; expected at most {MAX_DEPTH} levels") from error
    except ValueError as error:  # JSON and UTF-8 errors, numbers of too many digits
        raise UserError(f"{path}: damaged ({shorten(error)})") from error


def read_yaml(path: Path, *, root: Path | None = None, expected: str = "") -> Any:
    """The value of a YAML file without aliases and tags; errors as :func:`read_json`.

    Aliases are refused: a few nested ones stand for billions of values.
    """
    return parse_yaml(read_bounded(path, root=root, expected=expected), path)


def parse_yaml(content: str | bytes, path: Path) -> Any:
    """The value of YAML without aliases and tags, from the file ``path``; errors as :func:`read_yaml`."""
    with explained(f"{path}: not readable as YAML", ValueError, RecursionError, yaml.YAMLError):
        text = content if isinstance(content, str) else content.decode("utf-8")
        depth = 0
        for event in yaml.parse(text, Loader=_Loader):
            if isinstance(event, yaml.AliasEvent):
                raise UserError(f"{path}: the alias *{shorten(event.anchor)}; expected YAML without aliases")
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH:
                raise UserError(f"{path}: nested too deeply; expected at most {MAX_DEPTH} levels")
        return yaml.load(text, Loader=_Loader)
