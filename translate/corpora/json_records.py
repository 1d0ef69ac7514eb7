"""Reads JSON objects, one on each line or in one list; bounded, and each key once in an object."""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from translate.config.names import shorten, shown_path
from translate.errors import UserError
from translate.text.lines import read_line_blocks, read_text

_SPACE = re.compile(r"[ \t\n\r]*")


class _RepeatedKeyError(ValueError):
    """With the key."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON; of a key that stands twice, ``json`` would silently keep the last value."""
    values = dict(pairs)
    if len(values) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _RepeatedKeyError(next(key for key in keys if keys.count(key) > 1))
    return values


_DECODE = json.JSONDecoder(object_pairs_hook=_once).raw_decode


def json_records(path: Path) -> tuple[str, Iterator[tuple[int, Any]]]:
    """The word for a record in messages, and the numbered values of a file; blank lines are left out.

    Raises:
        UserError: for a file that cannot be read; while reading, for a value that is damaged, nested too
            deeply or has a key twice.
    """
    where = shown_path(path)
    if path.name.removesuffix(".gz").lower().endswith(".json"):
        text = read_text(path)
        if text.startswith("[", _end_of_space(text, 0)):
            return "record", _records_of_list(text, where)
        return "line", _records_of_lines(text.split("\n"), where)
    lines = (line for block in read_line_blocks(path) for line in block)
    return "line", _records_of_lines(lines, where)


def _records_of_lines(lines: Iterable[str], where: str) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(lines, start=1):
        if line.strip():
            value, end = _decode(line, _end_of_space(line, 0), f"{where}, line {number}")
            if line[end:].strip():
                raise UserError(f"{where}, line {number}: not valid JSON (extra data at column {end + 1})")
            yield number, value


def _records_of_list(text: str, where: str) -> Iterator[tuple[int, Any]]:
    position = _end_of_space(text, _end_of_space(text, 0) + 1)
    number = 0
    while number or text[position : position + 1] != "]":
        number += 1
        value, position = _decode(text, position, f"{where}, record {number}")
        yield number, value
        position = _end_of_space(text, position)
        mark = text[position : position + 1]
        if mark == "]":
            break
        if mark != ",":
            raise UserError(f"{where}, record {number}: not valid JSON (expected a comma or ] after it)")
        position = _end_of_space(text, position + 1)
    if _end_of_space(text, position + 1) < len(text):
        raise UserError(f"{where}: not valid JSON (extra data after the list)")


def _end_of_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    assert match is not None
    return match.end()


def _decode(text: str, position: int, where: str) -> tuple[Any, int]:
    try:
        return _DECODE(text, position)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column" if "\n" in error.doc else "column"
        raise UserError(f"{where}: not valid JSON ({error.msg} at {place} {error.colno})") from None
    except RecursionError:
        raise UserError(f"{where}: nested too deeply; expected an object of sentences") from None
    except _RepeatedKeyError as error:
        key = shorten(str(error), 100)
        raise UserError(f"{where}: the key {key!r} stands twice; expected each key once") from None
    except ValueError:  # of Python, for integers of thousands of digits
        raise UserError(f"{where}: a number has too many digits; expected an object of sentences") from None
