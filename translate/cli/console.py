"""What the commands share: options, and how they print."""

import codecs
import gc
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from translate.errors import UserError

if TYPE_CHECKING:
    from translate.translator import Translator

WRONG_USE = 2
INTERRUPTED = 130
NOT_UTF_8 = "bytes that are not UTF-8, replaced by \ufffd; convert the input to UTF-8"
READER_GONE = 1  # what typer makes of a closed pipe
SYSTEM_FAILED = 1

Device = Annotated[
    str,
    typer.Option(
        "--device", metavar="NAME", help="cpu, cuda, cuda:1 ...; auto takes the GPU if there is one."
    ),
]
Threads = Annotated[
    int | None,
    typer.Option("--threads", min=1, metavar="N", help="Threads on the CPU; torch's default if not given."),
]
BatchSize = Annotated[
    int | None,
    typer.Option("--batch-size", min=1, metavar="N", help="Sentences at a time; the run's own if not given."),
]
Precision = Annotated[
    str,
    typer.Option(
        "--precision",
        metavar="NAME",
        help="float32; bfloat16 and float16 are meant for a GPU, and not exact.",
    ),
]
Plugins = Annotated[
    list[str] | None,
    typer.Option("--plugin", metavar="MODULE", help="A module of yours that the run was trained with."),
]


def print_error(message: object) -> None:
    """``error: <message>`` on standard error."""
    print(f"error: {message}", file=sys.stderr, flush=True)


def print_warning(message: object) -> None:
    """``warning: <message>`` on standard error."""
    print(f"warning: {message}", file=sys.stderr, flush=True)


def unbuffer_lines() -> None:
    """Have every printed line appear at once, in a pipe or a log file too."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:  # not there when a test or a notebook has replaced the stream
            reconfigure(line_buffering=True)


def silence_stdout() -> None:
    """Give up standard output after its reader has left, so that Python's last flush does not complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def input_lines(warnings: Counter[str]) -> Iterator[str]:
    """The lines of standard input, one at a time; what is not UTF-8 is replaced, and counted.

    Raises:
        UserError: if there is no standard input.
    """
    if sys.stdin is None:
        raise UserError("standard input is closed; give sentences as arguments")
    for number, line in enumerate(_raw_lines(sys.stdin.buffer)):
        text = line.removesuffix(b"\r")
        if number == 0:
            text = text.removeprefix(codecs.BOM_UTF8)
        try:
            yield text.decode("utf-8")
        except UnicodeDecodeError:
            warnings[NOT_UTF_8] += 1
            yield text.decode("utf-8", errors="replace")


def _raw_lines(stream: BinaryIO) -> Iterator[bytes]:
    """Lines of a stream, without the line feed, as they come.

    They are read past Python's own buffer: a thread that waits for input holds its lock, on which the
    interpreter would abort when the user ends the process.
    """
    try:
        number = stream.fileno()
    except OSError:  # a test's stream
        yield from (line.removesuffix(b"\n") for line in stream)
        return
    parts: list[bytes] = []
    while chunk := os.read(number, 1 << 16):
        first, *others = chunk.split(b"\n")
        parts.append(first)
        for each in others:
            yield b"".join(parts)
            parts = [each]
    if any(parts):
        yield b"".join(parts)


def load_translator(
    run: Path,
    device: str,
    threads: int | None,
    plugins: list[str] | None = None,
    *,
    int8: bool = False,
    precision: str = "float32",
) -> "Translator":
    """The translator of a run; torch is imported here, so that ``--help`` need not wait for it."""
    from translate.runs.load import load
    from translate.runs.runtime import find_device, use_runtime

    use_runtime(find_device(device), threads)
    translator = load(run, device=device, plugins=plugins or (), int8=int8, precision=precision)
    # What is loaded now stays to the end: without this each full collection would visit it all, in 0.1 s.
    gc.freeze()
    return translator


def print_warnings(translator: "Translator") -> None:
    """Say on standard error what was cut, and how often."""
    for kind, count in translator.warnings.items():
        print_warning(f"{count} {'sentence' if count == 1 else 'sentences'}: {kind}")
