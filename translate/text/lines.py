"""Reading text files line by line, where only a line feed ends a line."""

import gzip
import zlib
from pathlib import Path

from translate.config.names import did_you_mean, nearest
from translate.errors import UserError

_GZIP = b"\x1f\x8b"


def read_bytes(path: Path) -> bytes:
    """The content of ``path``, decompressed if it is gzip. Raises ``UserError`` if it cannot be read."""
    if not path.exists():
        folder = path.parent
        if not folder.is_dir():
            raise UserError(f"{path}: no such file, nor is there a folder {folder}")
        files = (each.name for each in folder.iterdir() if each.is_file())
        raise UserError(f"{path}: no such file{did_you_mean(nearest(path.name, files))}")
    if path.is_dir():
        raise UserError(f"{path}: a file is expected, this is a folder")
    try:
        content = path.read_bytes()
        return gzip.decompress(content) if content.startswith(_GZIP) else content
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UserError(f"{path}: the gzip file is damaged or cut short ({error})") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error


def read_text(path: Path) -> str:
    """The content of ``path`` without byte order mark. ``UserError`` names a line that is not UTF-8."""
    content = read_bytes(path)
    try:
        return content.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        hint = "; it looks like UTF-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else ""
        raise UserError(f"{path}, line {line}: not UTF-8{hint}; convert the file to UTF-8") from error


def read_lines(path: Path) -> list[str]:
    """The lines of a UTF-8 file, plain or gzip.

    Only ``\\n`` ends a line (a ``\\r`` before it goes with it): other separators, such as U+2028 or a
    carriage return inside a line, would shift one side of a corpus against the other.
    """
    lines = read_text(path).split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]
