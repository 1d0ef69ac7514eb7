"""Writing files and folders: aside, then renamed, so that nothing half-written ever has its final name.

The system makes the temporary folders (``tempfile.mkdtemp``), so none of them can be a user's, and a process
removes only those that it made. A killed process leaves its folder behind; the name tells whose it is.
"""

import errno
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from translate.errors import UserError

PREFIX = ".translate-writing-"
_LEFT_OVER = re.compile(re.escape(PREFIX) + r"[a-z0-9_]{8}")  # eight characters of tempfile
_ADVICE = {
    errno.ENOSPC: "the disk is full: free some space, or choose another folder",
    errno.EDQUOT: "your share of the disk is used up: free some space, or choose another folder",
    errno.EFBIG: "files may not grow that large here (ulimit -f): raise the limit, or choose another folder",
    errno.EACCES: "choose a folder that you may write to",
    errno.EPERM: "choose a folder that you may write to",
    errno.EROFS: "choose a folder that you may write to",
}


def is_left_over(path: Path) -> bool:
    """Whether a killed process left this folder behind, by its name."""
    return _LEFT_OVER.fullmatch(path.name) is not None and path.is_dir() and not path.is_symlink()


@contextmanager
def scratch(directory: Path) -> Iterator[Path]:
    """A new temporary folder in ``directory``, removed at the end of the block; raises ``OSError``."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=directory))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # a full disk has room again


@contextmanager
def aside(path: Path) -> Iterator[Path]:
    """Give a path at which to write the file or folder ``path``; it gets its name if the block has no error.

    A file of that name is replaced then, and is whole until then; so is the file that a link points to. A
    device or a pipe, such as ``/dev/stdout``, is written directly.

    Raises:
        UserError: if it cannot be written.
    """
    final = path.resolve() if path.is_symlink() else path
    with explain_write_errors(path):
        if final.exists() and not (final.is_file() or final.is_dir()):
            yield path
            return
        with scratch(final.parent) as folder:
            new = folder / final.name
            yield new
            if new.is_file():
                sync(new)  # some file systems report a full disk only here
            new.replace(final)


def write_text(path: Path, text: str) -> None:
    """Write a file in one piece, in UTF-8; raises :class:`UserError` if it cannot be written."""
    with aside(path) as new:
        new.write_text(text, encoding="utf-8", newline="\n")


def sync(path: Path) -> None:
    """Wait until a file or folder is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def explain_write_errors(path: Path | str) -> Iterator[None]:
    """Raise an ``OSError`` of the block as a :class:`UserError` about ``path``."""
    try:
        yield
    except BrokenPipeError:  # nobody reads the output, which is no error
        raise
    except OSError as error:
        raise UserError(f"{path}: {not_written(error)}") from error


def not_written(error: OSError) -> str:
    """Why a file cannot be written, and what to do: the end of a message."""
    reason = error.strerror or str(error).split("\n")[0]
    advice = _ADVICE.get(error.errno or 0)
    return f"cannot be written ({reason})" + (f"; {advice}" if advice else "")
