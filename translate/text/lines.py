"""Reads the lines of files that a stranger may have written, bounded, and the lines of streams in blocks.

Only a line feed ends a line, with a carriage return before it if there is one. Other separators, such as
U+2028 or a carriage return inside a line, would shift one side of a corpus against the other.
"""

import gzip
import os
import queue
import re
import stat
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BufferedReader
from itertools import chain, islice
from pathlib import Path

from translate.config.names import did_you_mean, nearest, shown_path
from translate.errors import UserError

MAX_LINE = 1 << 20  # bytes of a line
MAX_EXPANSION, FREE_BYTES = 100, 64 << 20  # a compressed file may hold the larger: times its size, bytes
MAX_CHARACTERS = 1 << 16  # of a line that is translated; the rest is not read
LINE_CUT = f"line cut at {MAX_CHARACTERS:,} characters"  # a warning
FIRST_BLOCK, LARGEST_BLOCK = 64, 1024  # lines; sizes double from block to block, so that the first comes soon
TO_UTF_8 = (
    "convert the file to UTF-8 (iconv -f windows-1252 -t utf-8; other scripts of Windows: windows-1251 is "
    "Cyrillic, windows-1256 Arabic, cp932 Japanese, gb18030 Chinese)"
)
WAIT = 0.05  # seconds that a line waits for more lines
MAX_WORK = 1 << 25  # of a block: 1,024 lines of 181 characters, 128 of 512, or 8 of MAX_CHARACTERS
MEASURED = 10_000  # lines whose lengths tell how many characters there are
DEALT = 1 << 11  # lines at equal distances that are read at a time; each may map 64 KiB
_CHUNK = 1 << 18  # less than a line, so that each line inside a chunk is short enough
_NEIGHBOURS = 1000  # files of a folder among which a misspelt name is looked for
_GZIP = b"\x1f\x8b"
_OWN = re.compile(r"/dev/stdin|/dev/fd/\d+|/proc/(self|\d+)/fd/\d+")


def read_lines(path: str | Path) -> list[str]:
    """The lines of a UTF-8 file, plain or gzip.

    Raises:
        UserError: if the file cannot be read, has a line of more than ``MAX_LINE`` bytes, or if all its lines
            end in carriage returns alone.
    """
    return list(chain.from_iterable(read_line_blocks(path)))


def read_line_blocks(path: str | Path) -> Iterator[list[str]]:
    """The lines of a file of any size as by :func:`read_lines`, some thousands at a time."""
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
            yield _split(rest + piece[:end], path, number)
            number, rest = number + piece.count(b"\n"), piece[end:]
    if rest:
        yield _split(rest, path, number)


def _split(content: bytes, path: Path, number: int) -> list[str]:
    """The lines of a part of a file that begins with the line ``number``."""
    text = _decoded(content, path, number)
    lines = text.split("\n")
    if number == len(lines) == 1 and "\r" in text.removesuffix("\r"):
        raise UserError(
            f"{shown_path(path)}: its lines end in carriage returns; expected line feeds "
            f"(tr '\\r' '\\n' makes them)"
        )
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines] if "\r" in text else lines


def _decoded(content: bytes | bytearray, path: Path, number: int) -> str:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + number
        advice = "it is no text" if b"\0" in content else TO_UTF_8
        if number == 1:
            advice = other_format(content) or advice
        # without the error, which holds the content
        raise UserError(f"{shown_path(path)}, line {line}: not UTF-8; {advice}") from None
    return text.removeprefix("\ufeff") if number == 1 else text


def other_format(content: bytes | bytearray) -> str | None:
    """Advice for text that begins like UTF-16 or a packed document; ``None`` for other text."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "it looks like UTF-16; convert it to UTF-8"
    if content.startswith(b"PK\x03\x04"):
        return "it is packed, as Word and Excel files are; save its sentences as plain text, one a line"
    return None


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
        raise UserError(f"{where}: {missing(path)}") from error
    except OSError as error:
        raise UserError(f"{where}: cannot be read ({error.strerror})") from error
    before = os.fstat(descriptor)
    if problem := _refusal(path, before.st_mode):
        os.close(descriptor)
        raise UserError(f"{where}: {problem}")
    os.set_blocking(descriptor, True)
    is_pipe = stat.S_ISFIFO(before.st_mode)
    with os.fdopen(descriptor, "rb") as file:
        try:
            if not file.peek(2).startswith(_GZIP):
                yield file, None
            else:
                with gzip.GzipFile(fileobj=file) as unpacked:
                    yield unpacked, None if is_pipe else expansion_bound(before.st_size)
            after = os.fstat(descriptor)
            if not is_pipe and (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
                raise UserError(f"{where}: changed while it was read; expected a file that nobody writes to")
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise UserError(f"{where}: the gzip file is damaged or cut short ({error})") from error
        except OSError as error:
            raise UserError(f"{where}: cannot be read ({error.strerror})") from error


def check_file(path: Path) -> None:
    """Raise ``UserError`` if :func:`opened` would refuse ``path``; nothing is opened."""
    try:
        problem = _refusal(path, path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        problem = missing(path)
    except OSError as error:  # a name that is too long, or a folder that may not be listed
        problem = f"cannot be read ({error.strerror})"
    if problem:
        raise UserError(f"{shown_path(path)}: {problem}")


def _refusal(path: Path, mode: int) -> str | None:
    """Why a file of this kind is not read."""
    if stat.S_ISREG(mode) or (stat.S_ISFIFO(mode) and _OWN.fullmatch(os.fspath(path))):
        return None
    return f"expected a file, got {'a folder' if stat.S_ISDIR(mode) else 'a pipe or a device'}"


def missing(path: Path) -> str:
    """The end of a message about a file that is not there."""
    folder = path.parent
    try:
        if not folder.is_dir():
            return f"no such file, and no such folder {shown_path(folder)}"
        files = (entry.name for entry in islice(folder.iterdir(), _NEIGHBOURS) if entry.is_file())
        near = nearest(path.name, files)
        return f"no such file{did_you_mean(near and shown_path(path.with_name(near)))}"
    except OSError:  # a folder that cannot be read
        return "no such file"


def evenly(lines: Sequence[str], characters: int) -> Iterable[str]:
    """All lines, or lines at equal distances that have about this number of ``characters`` together."""
    count = len(lines)
    if count <= MEASURED:
        return lines
    wanted = characters * MEASURED // max(1, sum(map(len, _dealt(lines, MEASURED))))
    return lines if wanted >= count else _dealt(lines, wanted)


def _dealt(lines: Sequence[str], wanted: int) -> Iterator[str]:
    """Lines at equal distances."""
    import numpy as np  # takes a moment

    count = len(lines)
    gather = getattr(lines, "gather", None)  # a column then gives back the pages of its files
    for begin in range(0, wanted, DEALT):
        rows = [count * place // wanted for place in range(begin, min(wanted, begin + DEALT))]
        yield from (lines[row] for row in rows) if gather is None else gather(np.asarray(rows))


def gather(lines: Iterable[str], *, largest: int = LARGEST_BLOCK, wait: float = WAIT) -> Iterator[list[str]]:
    """Blocks of lines in order: large if many lines are there, small if somebody waits for an answer.

    A thread reads ahead by at most ``largest`` lines. A block is complete when it is full, when its lines are
    long, when the stream ends, or when no line arrives for ``wait`` seconds. An exception of ``lines`` is
    raised after the lines before it.

    Args:
        lines: such as the lines of standard input, which may never end.
        largest: largest number of lines in a block.
        wait: seconds.
    """
    ahead: queue.Queue[str | BaseException | None] = queue.Queue(largest)

    def read() -> None:
        try:
            for line in lines:
                ahead.put(line)
        except BaseException as error:
            ahead.put(error)
        else:
            ahead.put(None)

    threading.Thread(target=read, name="reader", daemon=True).start()
    size, work = min(FIRST_BLOCK, largest), 0
    block: list[str] = []
    while True:
        try:
            line = ahead.get(timeout=wait if block else None)
        except queue.Empty:
            yield block
            block, work = [], 0
            continue
        if isinstance(line, str):
            block.append(line)
            # Time and memory of a line: weights grow with the square of the pieces that are read.
            work += max(min(len(line), 512) ** 2, 64 * len(line))
            if len(block) < size and work < MAX_WORK:
                continue
            size = min(2 * size, largest)
        if block:
            yield block
            block, work = [], 0
        if isinstance(line, BaseException):
            raise line
        if line is None:
            return
