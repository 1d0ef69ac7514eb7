"""Reads lines: of files, where only a line feed ends a line, and of streams, in blocks."""

import queue
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from translate.config.names import shown_path
from translate.errors import UserError
from translate.text.reading import read_blocks, read_bytes

FIRST_BLOCK, LARGEST_BLOCK = 64, 1024  # lines; sizes double from block to block, so that the first comes soon
WAIT = 0.05  # seconds that a line waits for more lines
MAX_CHARACTERS = 1 << 16  # of a line that is translated; the rest is not read
LINE_CUT = f"line cut at {MAX_CHARACTERS:,} characters"  # a warning
MEASURED = 10_000  # lines whose lengths tell how many characters there are
DEALT = 1 << 11  # lines at equal distances that are read at a time; each may map 64 KiB
MAX_AHEAD = 1 << 22  # characters of lines that are read ahead, so that memory is bounded
MAX_WORK = 1 << 25  # of a block: 1,024 lines of 181 characters, 128 of 512, or 8 of MAX_CHARACTERS


def read_text(path: str | Path) -> str:
    """The content of ``path`` without byte order mark; ``UserError`` names a line that is not UTF-8."""
    return _decoded(read_bytes(path), path, 1)


def _decoded(content: bytes | bytearray, path: str | Path, number: int) -> str:
    """The text of the lines from ``number`` on."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + number
        utf_16 = number == 1 and content.startswith((b"\xff\xfe", b"\xfe\xff"))
        hint = "; it looks like UTF-16" if utf_16 else ""
        raise UserError(
            f"{shown_path(path)}, line {line}: not UTF-8{hint}; convert the file to UTF-8"
        ) from None  # the error holds the content
    return text.removeprefix("\ufeff") if number == 1 else text


def read_lines(path: str | Path) -> list[str]:
    """The lines of a UTF-8 file, plain or gzip.

    Only ``\\n`` ends a line, with a ``\\r`` before it if there is one. Other separators, such as U+2028 or a
    carriage return inside a line, would shift one side of a corpus against the other.

    Raises:
        UserError: if the file cannot be read, or all its lines end in carriage returns alone.
    """
    return _split(read_text(path), path, 1)


def read_line_blocks(path: str | Path) -> Iterator[list[str]]:
    """The lines of a file of any size as by :func:`read_lines`, some thousands at a time."""
    for number, block in read_blocks(path):
        yield _split(_decoded(block, path, number), path, number)


def _split(text: str, path: str | Path, number: int) -> list[str]:
    """The lines of a text, which begins with the line ``number`` of a file."""
    lines = text.split("\n")
    if number == len(lines) == 1 and "\r" in lines[0].removesuffix("\r"):
        raise UserError(
            f"{shown_path(path)}: its lines end in carriage returns; expected line feeds "
            f"(tr '\\r' '\\n' makes them)"
        )
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines] if "\r" in text else lines


def evenly(lines: Sequence[str], characters: int) -> Iterable[str]:
    """All lines, or as many at equal distances as have about so many ``characters``."""
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


def _work(line: str) -> int:
    """A measure of a line's time and memory: weights grow with the square of the pieces that are read."""
    return max(min(len(line), 512) ** 2, 64 * len(line))


class _Failure:
    def __init__(self, error: BaseException) -> None:
        self.error = error


class _Ahead:
    """Lines that were read ahead: at most ``most`` of them, of about ``MAX_AHEAD`` characters."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.characters = 0
        self.held: deque[str | _Failure | None] = deque()
        self.changed = threading.Condition()

    def put(self, item: str | _Failure | None) -> None:
        """Add an item, as soon as there is room."""
        with self.changed:
            self.changed.wait_for(lambda: len(self.held) < self.most and self.characters < MAX_AHEAD)
            self.held.append(item)
            self.characters += len(item) if isinstance(item, str) else 0
            self.changed.notify_all()

    def get(self, timeout: float | None) -> str | _Failure | None:
        """Take the first item; raises ``queue.Empty`` if none comes for ``timeout`` seconds."""
        with self.changed:
            if not self.changed.wait_for(lambda: self.held, timeout):
                raise queue.Empty
            item = self.held.popleft()
            self.characters -= len(item) if isinstance(item, str) else 0
            self.changed.notify_all()
            return item


def gather(lines: Iterable[str], *, largest: int = LARGEST_BLOCK, wait: float = WAIT) -> Iterator[list[str]]:
    """Blocks of lines in order: large if many lines are there, small if somebody waits for an answer.

    A thread reads ahead by at most two blocks. A block is complete when it is full, when its lines are long,
    when the stream ends, or when no line arrives for ``wait`` seconds. An exception of ``lines`` is raised
    after the lines before it.

    Args:
        lines: such as the lines of standard input, which may never end.
        largest: largest number of lines in a block.
        wait: seconds.
    """
    held = _Ahead(2 * largest)

    def read() -> None:
        try:
            for line in lines:
                held.put(line)
        except BaseException as error:
            held.put(_Failure(error))
        else:
            held.put(None)

    threading.Thread(target=read, name="reader", daemon=True).start()
    size = min(FIRST_BLOCK, largest)
    block: list[str] = []
    work = 0
    while True:
        try:
            line = held.get(timeout=wait if block else None)
        except queue.Empty:
            yield block
            block, work = [], 0
            continue
        if isinstance(line, str):
            block.append(line)
            work += _work(line)
            if len(block) < size and work < MAX_WORK:
                continue
            size = min(2 * size, largest)
        if block:
            yield block
            block, work = [], 0
        if isinstance(line, _Failure):
            raise line.error
        if line is None:
            return
