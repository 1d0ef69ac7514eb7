"""The terminal and the streams of a command: messages, progress and input lines."""

import codecs
import errno
import io
import json
import os
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from translate.config.names import escaped
from translate.errors import UserError, UserNotice

if TYPE_CHECKING:
    from translate.translator import Translator

Item = TypeVar("Item")

WRONG_USE = 2
INTERRUPTED = 130
READER_GONE = 1  # the code that typer gives a closed pipe
SYSTEM_FAILED = 1
NOT_UTF_8 = "bytes that are not UTF-8, replaced by \ufffd; convert the input to UTF-8"
_UTF_8 = codecs.getincrementaldecoder("utf-8")
LONGEST_LINE = 1000  # characters of an error, a warning or a note
REFRESH = 0.5  # seconds between two updates of a bar


def _print_line(kind: str, message: object) -> None:
    """``error: <message>`` on standard error: at most ``LONGEST_LINE`` characters that no terminal obeys."""
    text = escaped(" ".join(line.strip() for line in str(message).splitlines()))
    if len(text) > LONGEST_LINE:  # the end says what was expected
        text = f"{text[: LONGEST_LINE // 2]} ... {text[-LONGEST_LINE // 2 :]}"
    print(f"{kind}: {text}", file=sys.stderr)


print_error = partial(_print_line, "error")
print_warning = partial(_print_line, "warning")
print_note = partial(_print_line, "note")


def print_result(record: Any, lines: Iterable[str], *, as_json: bool) -> None:
    """Print the result of a command: a value as JSON on one line, or lines for people."""
    print(json.dumps(record) if as_json else "\n".join(lines))


def print_notices() -> None:
    """From now on print a :class:`UserNotice` as a warning of the command; other warnings stay Python's."""
    otherwise, shown = warnings.showwarning, set[str]()

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, UserNotice):
            if str(message) not in shown:
                print_warning(message)
            shown.add(str(message))
        else:
            otherwise(message, category, *where, **more)

    warnings.showwarning = show


def print_failure(error: UserError | OSError) -> int:
    """Print in one line what the user gave wrong, or the system refused; returns the exit code.

    Files have their own messages, so a system's error without the name of one is of standard output; nobody
    is told that its reader has left.
    """
    if isinstance(error, UserError):
        print_error(error)
        return WRONG_USE
    if isinstance(error, BrokenPipeError):
        silence_stdout()
        return READER_GONE
    if error.filename is not None:
        print_error(f"{error.filename}: {error.strerror or error}")
    elif error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO):
        print_error(f"standard output: cannot be written ({error.strerror}); what was printed is incomplete")
    else:
        print_error(error.strerror or error)
    try:
        sys.stdout.flush()
    except OSError:
        silence_stdout()
    return SYSTEM_FAILED


def use_utf_8() -> None:
    """Print UTF-8 whatever the locale says: translations are UTF-8 in every file and pipe.

    Names of files keep their bytes. Characters that UTF-8 cannot write are escaped on standard error.
    """
    for stream, errors in ((sys.stdout, "surrogateescape"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):  # not what a test or a notebook put there
            stream.reconfigure(encoding="utf-8", errors=errors)


def as_unicode(value: list[str] | str | None) -> list[str] | str | None:
    """Sentences of the command line, which Python may have read as ASCII; a callback of typer.

    Raises:
        UserError: if one of them is not UTF-8.
    """
    if isinstance(value, list):
        return [_unicode(text, f"sentence {number} of the arguments") for number, text in enumerate(value, 1)]
    return value if value is None else _unicode(value, "an argument")


def _unicode(text: str, where: str) -> str:
    try:
        # Python keeps bytes that the locale does not know as lone surrogates.
        return text.encode("utf-8", "surrogateescape").decode("utf-8")
    except UnicodeError as error:
        raise UserError(f"{where}: not UTF-8; convert it to UTF-8") from error


@contextmanager
def going_on(how: str = "the same command") -> Iterator[None]:
    """Say of a command that is interrupted how it goes on."""
    try:
        yield
    except KeyboardInterrupt:
        print_note(f"{how} goes on where it was interrupted")
        raise


def unbuffer_lines() -> None:
    """Write every printed line at once, also into a pipe or a log file."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # not what a test or a notebook put there
            stream.reconfigure(line_buffering=True)


def silence_stdout() -> None:
    """Give up standard output after its reader has left, so that Python's last flush raises no error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def input_lines(counts: Counter[str]) -> Iterator[str]:
    """The lines of standard input, one at a time, and of each at most ``MAX_CHARACTERS`` characters.

    Lines that are cut are counted. Bytes that are not UTF-8 are replaced and counted.

    Raises:
        UserError: if there is no standard input, or if it is UTF-16 or a packed document.
    """
    from translate.text.lines import LINE_CUT, MAX_CHARACTERS, other_format

    if sys.stdin is None:
        raise UserError("standard input is closed; give sentences as arguments")
    most = 4 * (MAX_CHARACTERS + 1)  # bytes; a character has at most four
    for number, line in enumerate(_raw_lines(sys.stdin.buffer, most)):
        raw = line.removesuffix(b"\r")
        if number == 0:
            raw = raw.removeprefix(codecs.BOM_UTF8)
            if advice := other_format(raw):
                raise UserError(f"standard input: not UTF-8; {advice}")
        whole = len(line) < most  # otherwise its last character may be cut, which is no error
        try:
            text = _UTF_8("strict").decode(raw, final=whole)
        except UnicodeDecodeError:
            counts[NOT_UTF_8] += 1
            text = _UTF_8("replace").decode(raw, final=whole)
        if len(text) > MAX_CHARACTERS:
            counts[LINE_CUT] += 1
            text = text[:MAX_CHARACTERS]
        yield text


def _raw_lines(stream: BinaryIO, most: int) -> Iterator[bytes]:
    """The first ``most`` bytes of each line of a stream as it arrives, without the line feed.

    Python's own buffer is bypassed: a thread that waits for input holds the buffer's lock, and the
    interpreter aborts on that lock when the user ends the process.
    """
    try:
        descriptor = stream.fileno()
    except OSError:  # a test's stream
        yield from (line.removesuffix(b"\n")[:most] for line in stream)
        return
    parts: list[bytes] = []
    size = 0
    while chunk := os.read(descriptor, 1 << 16):
        first, *others = chunk.split(b"\n")
        if size < most:
            parts.append(first)
            size += len(first)
        for part in others:
            yield b"".join(parts)[:most]
            parts, size = [part], len(part)
    if any(parts):
        yield b"".join(parts)[:most]


def print_warnings(translator: "Translator", of: str = "") -> None:
    """Print on standard error what the translator ``of`` a run had to cut or replace, and how often."""
    from translate.search.sources import warning_lines

    for line in warning_lines(translator.warnings, translator.unknown):
        print_warning(f"{of}: {line}" if of else line)


def progress(
    items: Iterable[Item] | None = None,
    *,
    unit: str = "sentences",
    total: int | None = None,
    quiet_meanwhile: bool = False,
) -> Any:
    """A bar of tqdm around ``items``, or to be updated; on standard error, if that is a terminal.

    Args:
        items: each is counted when the next one is requested.
        unit: the name of the items.
        total: number of items, if known.
        quiet_meanwhile: whether standard output stays empty until the end. If it does not, and both streams
            are the terminal, the bar is not shown, so that it does not cover the results.
    """
    from tqdm import tqdm  # type: ignore[import-untyped]

    shown = sys.stderr.isatty() and (quiet_meanwhile or not sys.stdout.isatty())
    return tqdm(items, total=total, unit=f" {unit}", mininterval=REFRESH, disable=not shown)
