"""The place of ``conf/``, the valid name nearest to a wrong one, and texts cut for a message."""

import difflib
import re
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

SHOWN, LONGEST_PATH = 100, 140  # characters in a message, of a value or a name, and of a path
LONGEST_NAME, MOST_NAMES = 200, 10_000  # among which the nearest is looked for
SHOWN_NAMES = 20  # in a message
TABLES = (".tsv", ".csv", ".tmx", ".jsonl", ".json", ".ndjson", ".parquet", ".arrow")  # files of pairs
_LINES = Path(__file__).with_name("other_names.txt").read_text(encoding="utf-8").splitlines()
OTHER_NAMES = {
    ours: theirs.split() for ours, colon, theirs in (line.partition(": ") for line in _LINES) if colon
}
_CODE = re.compile(r"[a-z]{2,3}([-_][A-Za-z]{2,4})?")


def is_code(language: str) -> bool:
    """Whether this looks like the code of a language, such as ``en`` or ``pt-BR``."""
    return _CODE.fullmatch(language) is not None


def config_directory() -> Path:
    """The folder ``conf``: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "conf"
    return installed if installed.is_dir() else package.parent / "conf"


def display_path(file: Path) -> str:
    """``file`` as seen from the working directory if it lies below it."""
    try:
        return shown_path(file.resolve().relative_to(Path.cwd()))
    except (ValueError, OSError):  # OSError: there is no working directory any more
        return shown_path(file)


def nearest(name: str, options: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The option that looks most like ``name``, or ``None`` when none comes near."""
    if len(str(name)) > LONGEST_NAME:  # to compare takes the product of both lengths
        return None
    known = {str(option) for option in islice(options, MOST_NAMES)}
    near = difflib.get_close_matches(
        str(name), sorted(option for option in known if len(option) <= LONGEST_NAME), n=1, cutoff=cutoff
    )
    return near[0] if near else None


def listed(names: Iterable[object]) -> str:
    """Names in a message, with commas; of many or long ones the first."""
    shown = [shorten(str(name), 80) for name in islice(names, SHOWN_NAMES + 1)]
    if len(shown) > SHOWN_NAMES:
        shown[-1] = "..."
    return shorten(", ".join(shown), 300) or "none"


TWINS = {
    "tokenizer": "the section: how text is cut into pieces",
    "data.tokenised": "whether words are separated by white space already",
}


def did_you_mean(suggestion: str | None, section: str = "") -> str:
    """``; did you mean <suggestion>?``, or nothing; of two names that are taken for each other, both.

    Args:
        suggestion: the nearest name, if any is near.
        section: that has it, for a dotted path.
    """
    if suggestion and section:
        suggestion = f"{section}.{suggestion}"
    if suggestion in TWINS:
        suggestion = " or ".join(f"{name} ({meaning})" for name, meaning in TWINS.items())
    if suggestion == "training.batch_tokens":  # elsewhere a batch is counted in sentences
        suggestion += " (target tokens)"
    return f"; did you mean {suggestion}?" if suggestion else ""


def shorten(text: object, limit: int = SHOWN) -> str:
    """``text`` on one line of at most ``limit`` characters: a message repeats no page of somebody's input.

    White space is one space, and a character that a terminal would obey is written as Python escapes it.
    """
    return cut(escaped(" ".join(str(text)[: 4 * limit].split())), limit)


def cut(text: str, limit: int) -> str:
    """``text``, with at most ``limit`` characters."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def escaped(text: str) -> str:
    """``text`` with escapes for what is not printable."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def counted(number: int, noun: str, plural: str = "s") -> str:
    """``1,234 pairs``, or ``1 pair``; ``plural`` is the ending of more than one."""
    return f"{number:,} {noun}{plural * (number != 1)}"


def shown_path(path: object) -> str:
    """A path in a message; of a long one the end, which tells most."""
    text = escaped(str(path))
    return text if len(text) <= LONGEST_PATH else f"…{text[1 - LONGEST_PATH :]}"


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of cells as lines with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
