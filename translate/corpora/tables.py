"""Reads tables, files with both sides of a corpus in named columns: TSV, JSON, parquet, Arrow."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from translate.config.names import did_you_mean, nearest
from translate.errors import UserError
from translate.text.lines import read_bytes, read_lines

if TYPE_CHECKING:
    import pyarrow

SUFFIXES = (".tsv", ".jsonl", ".json", ".ndjson", ".parquet", ".arrow")
_POINTER = b"version https://git-lfs"
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
        return _read_arrow(path, suffix)
    return _read_json(path)


def pick(table: Table, candidates: Sequence[str], advice: str) -> list[str]:
    """The first of the candidate columns in the table; raises ``UserError`` with ``advice`` without one."""
    for name in candidates:
        if name in table.names:
            return table.column(name)
    raise UserError(
        f"{table.where}: no field {candidates[0]!r}{did_you_mean(nearest(candidates[0], table.names))}; "
        f"it has {', '.join(table.names) or 'none'}; {advice}"
    )


def from_arrow(table: "pyarrow.Table", where: str) -> Table:
    """Columns of an Arrow table, with dotted names for the parts of structs."""
    import pyarrow
    import pyarrow.compute

    columns: dict[str, Any] = {}
    for name in table.column_names:
        column = table.column(name)
        columns[name] = column
        if pyarrow.types.is_struct(column.type):
            for part in column.type:
                columns[f"{name}.{part.name}"] = pyarrow.compute.struct_field(column, part.name)

    def read(name: str) -> list[str]:
        values = enumerate(columns[name].to_pylist(), start=1)
        return [_sentence(value, name, f"{where}, row {row}") for row, value in values]

    return Table(where, list(columns), read)


def _read_arrow(path: Path, suffix: str) -> Table:
    import pyarrow
    import pyarrow.parquet

    content = read_bytes(path)
    if content.startswith(_POINTER):
        raise UserError(f"{path}: this is a Git LFS pointer; fetch the content with 'git lfs pull'")
    buffer = pyarrow.BufferReader(content)
    try:
        if suffix == ".parquet":
            table = pyarrow.parquet.read_table(buffer)
        else:
            table = pyarrow.ipc.open_stream(buffer).read_all()
    except (pyarrow.ArrowException, OSError) as error:
        reason = str(error).split("\n")[0]
        raise UserError(f"{path}: not a readable {suffix[1:]} file ({reason})") from error
    return from_arrow(table, str(path))


def _read_tsv(path: Path) -> Table:
    """Tab-separated values with a header; there is no quoting, so a quotation mark is a plain character."""
    lines = read_lines(path)
    if not lines:
        raise UserError(f"{path}: the file is empty; expected a header line with the names of its fields")
    names = lines[0].split("\t")
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        row = line.split("\t")
        if len(row) != len(names):
            raise UserError(
                f"{path}, line {number}: {len(row)} tab-separated fields where the header has {len(names)}"
            )
        rows.append(row)
    return Table(str(path), names, lambda name: [row[names.index(name)] for row in rows])


def _read_json(path: Path) -> Table:
    """One JSON object on each line, or one list of objects."""
    lines = read_lines(path)
    if path.name.removesuffix(".gz").endswith(".json") and lines and lines[0].lstrip().startswith("["):
        whole = _parse("\n".join(lines), str(path))
        parsed = [(f"{path}, record {number}", value) for number, value in enumerate(whole, start=1)]
    else:
        numbered = [(f"{path}, line {number}", line) for number, line in enumerate(lines, start=1)]
        parsed = [(where, _parse(line, where)) for where, line in numbered if line.strip()]
    records: list[tuple[str, dict[str, Any]]] = []
    for where, value in parsed:
        if not isinstance(value, dict):
            raise UserError(f"{where}: expected a JSON object, got {type(value).__name__}")
        records.append((where, _flat(value)))
    names = list(records[0][1]) if records else []

    def read(name: str) -> list[str]:
        for where, record in records:
            if name not in record:
                raise UserError(f"{where}: no field {name!r}{did_you_mean(nearest(name, record))}")
        return [_sentence(record[name], name, where) for where, record in records]

    return Table(str(path), names, read)


def _parse(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise UserError(f"{where}: not valid JSON ({error.msg} at column {error.colno})") from error


def _flat(record: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in record.items():
        flat[name] = value
        if isinstance(value, dict):
            flat.update({f"{name}.{part}": nested for part, nested in value.items()})
    return flat


def _sentence(value: Any, name: str, where: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise UserError(f"{where}: field {name!r}: expected text, got {type(value).__name__}")
    # A sentence is one line, and JSON can hold half a surrogate pair, which UTF-8 cannot.

    return _SURROGATES.sub("\ufffd", _BREAKS.sub(" ", value))
