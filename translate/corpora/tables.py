"""Reads tables, files with both sides of a corpus in named columns: TSV, JSON, parquet, Arrow."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from translate.config.names import did_you_mean, listed, nearest, shorten, shown_path
from translate.corpora.json_records import json_records
from translate.errors import UserError
from translate.text.lines import read_lines
from translate.text.reading import MAX_LINE

if TYPE_CHECKING:
    import pyarrow

SUFFIXES = (".tsv", ".jsonl", ".json", ".ndjson", ".parquet", ".arrow")
_BREAKS = re.compile(r"[\r\n]+")
_SURROGATES = re.compile("[\ud800-\udfff]")


class Table(NamedTuple):
    """Named columns of sentences; nested columns have dotted names ("translation.en")."""

    where: str
    names: list[str]
    column: Callable[[str], list[str]]


def is_table(path: Path) -> bool:
    """Whether :func:`read_table` knows the suffix, apart from ``.gz``."""
    return Path(path.name.removesuffix(".gz")).suffix.lower() in SUFFIXES


def read_table(path: Path) -> Table:
    """Read a table; raises ``UserError``, with the line, if it is missing or malformed."""
    suffix = Path(path.name.removesuffix(".gz")).suffix.lower()
    if suffix == ".tsv":
        return _read_tsv(path)
    if suffix in (".parquet", ".arrow"):
        from translate.corpora.arrow_files import read_arrow  # half a second

        return from_arrow(read_arrow(path, suffix), shown_path(path))
    return _read_json(path)


def pick(table: Table, candidates: Sequence[str], advice: str) -> list[str]:
    """The first of the candidate columns in the table; raises ``UserError`` with ``advice`` without one."""
    for name in candidates:
        if name in table.names:
            return table.column(name)
    raise UserError(
        f"{table.where}: no field {shorten(candidates[0], 100)!r}"
        f"{did_you_mean(nearest(candidates[0], table.names))}; it has {listed(table.names)}; {advice}"
    )


def from_arrow(table: "pyarrow.Table", where: str) -> Table:
    """Columns of an Arrow table, with dotted names for the parts of structs.

    Raises:
        UserError: for a name that two columns have.
    """
    import pyarrow
    import pyarrow.compute

    found: list[tuple[str, Any]] = []
    for name, column in zip(table.column_names, table.columns):
        found.append((name, column))
        if pyarrow.types.is_struct(column.type):
            parts = (column.type.field(index) for index in range(column.type.num_fields))
            found += (
                (f"{name}.{part.name}", pyarrow.compute.struct_field(column, [index]))
                for index, part in enumerate(parts)
            )
    check_names((name for name, _ in found), where)
    columns = dict(found)

    def read(name: str) -> list[str]:
        try:
            values = columns[name].to_pylist()
        except (pyarrow.ArrowException, ValueError, TypeError, OverflowError) as error:
            reason = shorten(str(error), 100)
            raise UserError(f"{where}: field {shorten(name)!r}: expected text ({reason})") from None
        return [_sentence(value, name, where, "row", row) for row, value in enumerate(values, start=1)]

    return Table(where, list(columns), read)


def check_names(names: Iterable[str], where: str) -> None:
    """Raise ``UserError`` for a name that stands twice: which of the columns is meant is not known."""
    for name, count in Counter(names).items():
        if count > 1 and name:  # a column without a name cannot be chosen
            raise UserError(
                f"{where}: {count} fields are called {shorten(name, 100)!r}; expected each name once"
            )


def _read_tsv(path: Path) -> Table:
    """Tab-separated values with a header; there is no quoting, so a quotation mark is a plain character."""
    lines, where = read_lines(path), shown_path(path)
    if not lines:
        raise UserError(f"{where}: the file is empty; expected a header line with the names of its fields")
    names = lines[0].split("\t")
    check_names(names, f"{where}, line 1")
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        row = line.split("\t")
        if len(row) != len(names):
            raise UserError(
                f"{where}, line {number}: {len(row)} tab-separated fields where the header has {len(names)}"
            )
        rows.append(row)

    def read(name: str) -> list[str]:
        index = names.index(name)
        return [row[index] for row in rows]

    return Table(where, names, read)


def _read_json(path: Path) -> Table:
    """One JSON object on each line, or one list of objects."""
    where = shown_path(path)
    unit, found = json_records(path)
    records = list(_flat_records(found, where, unit))
    names = list(records[0][1]) if records else []

    def read(name: str) -> list[str]:
        sentences = []
        for number, record in records:
            if name not in record:
                hint = did_you_mean(nearest(name, record))
                raise UserError(f"{where}, {unit} {number}: no field {shorten(name, 100)!r}{hint}")
            sentences.append(_sentence(record[name], name, where, unit, number))
        return sentences

    return Table(where, names, read)


def _flat_records(
    found: Iterable[tuple[int, Any]], where: str, unit: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects with their numbers, and the parts of nested ones under dotted names."""
    for number, record in found:
        if not isinstance(record, dict):
            raise UserError(f"{where}, {unit} {number}: expected a JSON object, got {type(record).__name__}")
        nested = [(name, value) for name, value in record.items() if isinstance(value, dict)]
        if nested:
            parts = [(f"{name}.{part}", inner) for name, value in nested for part, inner in value.items()]
            flat = record | dict(parts)
            if len(flat) < len(record) + len(parts):
                check_names([*record, *(name for name, _ in parts)], f"{where}, {unit} {number}")
            record = flat
        yield number, record


def _sentence(value: Any, name: str, where: str, unit: str, number: int) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > MAX_LINE:
        got = f"{len(value):,} characters" if isinstance(value, str) else type(value).__name__
        raise UserError(
            f"{where}, {unit} {number}: field {shorten(name, 100)!r}: expected text of at most {MAX_LINE:,} "
            f"characters, got {got}"
        )
    if value.isprintable():  # the quick way: neither a line end nor a surrogate is printable
        return value
    # A sentence is one line, and JSON can hold half a surrogate pair, which UTF-8 cannot.
    return _SURROGATES.sub("\ufffd", _BREAKS.sub(" ", value))
