"""Reads files of sentences and links that a stranger may have written, piece by piece and bounded."""

import gzip
import os
import re
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from itertools import islice
from pathlib import Path

from translate.config.names import did_you_mean, nearest, shown_path
from translate.errors import UserError

MAX_LINE = 1 << 20  # bytes of a line
MAX_LIST = 512 << 20  # bytes of a file that is one list, such as JSON's
MAX_EXPANSION, FREE_BYTES = 100, 64 << 20  # a compressed file may hold the larger: times its size, bytes
_CHUNK = 1 << 18  # less than a line, so that each line inside a chunk is short enough
_NEIGHBOURS = 1000  # files of a folder among which a misspelt name is looked for
_GZIP = b"\x1f\x8b"
_OWN = re.compile(r"/dev/stdin|/dev/fd/\d+|/proc/(self|\d+)/fd/\d+")


def read_bytes(path: str | Path) -> bytearray:
    """The content of a file of lines or of one list, decompressed if it is gzip.

    A line has at most ``MAX_LINE`` bytes. If the file begins with ``[``, as a list in JSON, it may have
    longer lines, and ``MAX_LIST`` bytes.

    Raises:
        UserError: if the file is missing, cannot be read or is too large.
    """
    path, content = Path(path), bytearray()
    unfinished, is_list = 0, False  # bytes of the last line so far
    with opened(path) as (file, bound):
        while piece := file.read(_CHUNK):
            is_list = is_list or (not content and piece.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"[")
            feed = piece.find(b"\n")
            line = unfinished + (len(piece) if feed < 0 else feed)
            if line > MAX_LINE and not is_list:
                raise UserError(
                    f"{shown_path(path)}, line {content.count(10) + 1}: longer than {MAX_LINE:,} bytes; "
                    f"expected one sentence a line"
                )
            unfinished = line if feed < 0 else len(piece) - 1 - piece.rfind(b"\n")
            content += piece
            if is_list and len(content) > MAX_LIST:
                raise UserError(
                    f"{shown_path(path)}: longer than {MAX_LIST:,} bytes; write one object a line to a "
                    f".jsonl file"
                )
            check_expansion(len(content), bound, path)
    return content


def read_blocks(path: str | Path) -> Iterator[tuple[int, bytes]]:
    """The whole lines of a file in blocks, each with the number of its first line.

    A file of gzip is decompressed. A line has at most ``MAX_LINE`` bytes; the last may lack its line feed.

    Raises:
        UserError: as :func:`read_bytes`.
    """
    path, number, size, rest = Path(path), 1, 0, b""
    with opened(path) as (file, bound):
        while piece := file.read(_CHUNK):
            size += len(piece)
            check_expansion(size, bound, path)
            feed = piece.find(b"\n")
            if len(rest) + (len(piece) if feed < 0 else feed) > MAX_LINE:
                raise UserError(
                    f"{shown_path(path)}, line {number}: longer than {MAX_LINE:,} bytes; "
                    f"expected one sentence a line"
                )
            if feed < 0:
                rest += piece
                continue
            end = piece.rfind(b"\n") + 1
            yield number, rest + piece[:end]
            number, rest = number + piece.count(b"\n"), piece[end:]
    if rest:
        yield number, rest


def user_path(name: str) -> Path:
    """A path that a user wrote; ``~`` is the home folder if there is one."""
    return Path(os.path.expanduser(name))  # that of pathlib raises RuntimeError for ~nobody


def check_expansion(size: int, bound: int | None, path: Path) -> None:
    """Raise ``UserError`` if a compressed file has more bytes than :func:`opened` said."""
    if bound is not None and size > bound:
        raise UserError(
            f"{shown_path(path)}: expands to more than {MAX_EXPANSION} times its size; "
            f"expected sentences (decompress the file first if it holds them)"
        )


def expansion_bound(size: int) -> int:
    """How many bytes a compressed file of ``size`` bytes may hold."""
    return max(FREE_BYTES, MAX_EXPANSION * size)


@contextmanager
def opened(path: Path) -> Iterator[tuple[BufferedReader | gzip.GzipFile, int | None]]:
    """A file for reading, decompressed if it is gzip, and how many bytes it may then have.

    A pipe that this process was given, as the shell does for ``<(zcat FILE)``, is read; its name leads to a
    descriptor. A pipe with a name of its own may have no writer and would block for ever.

    Raises:
        UserError: if the file is missing, or a folder, a pipe or a device; on damage, also while reading; at
            the end, if somebody has written to the file meanwhile.
    """
    where = shown_path(path)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, ValueError) as error:  # ValueError: a zero byte
        raise UserError(f"{where}: {_missing(path)}") from error
    except OSError as error:
        raise UserError(f"{where}: cannot be read ({error.strerror})") from error
    status = os.fstat(descriptor)
    is_pipe = stat.S_ISFIFO(status.st_mode)
    if problem := _refusal(path, status.st_mode):
        os.close(descriptor)
        raise UserError(f"{where}: {problem}")
    os.set_blocking(descriptor, True)
    with os.fdopen(descriptor, "rb") as file:
        try:
            if not file.peek(2).startswith(_GZIP):
                yield file, None
            else:
                with gzip.GzipFile(fileobj=file) as unpacked:
                    yield unpacked, None if is_pipe else expansion_bound(status.st_size)
            _check_unchanged(where, status, os.fstat(descriptor))
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise UserError(f"{where}: the gzip file is damaged or cut short ({error})") from error
        except OSError as error:
            raise UserError(f"{where}: cannot be read ({error.strerror})") from error


def _check_unchanged(where: str, before: os.stat_result, after: os.stat_result) -> None:
    if stat.S_ISREG(before.st_mode) and (before.st_size, before.st_mtime_ns) != (
        after.st_size,
        after.st_mtime_ns,
    ):
        raise UserError(f"{where}: changed while it was read; expected a file that nobody writes to")


def check_file(path: Path) -> None:
    """Raise ``UserError`` if :func:`opened` would refuse ``path``; nothing is opened."""
    try:
        problem = _refusal(path, path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        problem = _missing(path)
    except OSError as error:  # a name that is too long, or a folder that may not be listed
        problem = f"cannot be read ({error.strerror})"
    if problem:
        raise UserError(f"{shown_path(path)}: {problem}")


def _refusal(path: Path, mode: int) -> str | None:
    """Why a file of this kind is not read."""
    if stat.S_ISREG(mode) or (stat.S_ISFIFO(mode) and _OWN.fullmatch(os.fspath(path))):
        return None
    return f"expected a file, got {'a folder' if stat.S_ISDIR(mode) else 'a pipe or a device'}"


def _missing(path: Path) -> str:
    """What to say of a file that is not there."""
    folder = path.parent
    try:
        if not folder.is_dir():
            return f"no such file, and no such folder {shown_path(folder)}"
        files = (entry.name for entry in islice(folder.iterdir(), _NEIGHBOURS) if entry.is_file())
        return f"no such file{did_you_mean(nearest(path.name, files))}"
    except OSError:  # a folder that cannot be read
        return "no such file"
