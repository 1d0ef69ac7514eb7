"""Reads tables, files with both sides of a corpus in named columns: TSV, CSV, TMX, JSON, parquet, Arrow.

A table may be a stranger's: every batch is validated, and all are bounded.
"""

import csv
import json
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow
import pyarrow.compute
import pyarrow.ipc
import pyarrow.parquet

from translate.config.names import TABLES, did_you_mean, is_code, listed, nearest, shorten, shown_path
from translate.corpora.memories import read_units
from translate.errors import UserError, UserNotice
from translate.text.bounded import explained
from translate.text.languages import code_of
from translate.text.lines import MAX_LINE, check_expansion, expansion_bound, opened, read_line_blocks

ROWS = 1 << 12  # of a block of JSON
ARROW_ROWS = 1024  # decoded at a time: one long value may stand for a million rows
OTHERS = {".xlsx", ".xls", ".ods", ".docx", ".doc", ".odt", ".zip", ".tgz", ".7z"}  # not read
SIDES = {"source": ("source", "src"), "target": ("target", "tgt", "trg")}  # names of columns
NUMBERS = "both by number, such as 1 and 2"
_FILE = b"ARROW1"  # the file format of Arrow; the other is a stream
_POINTER = b"version https://git-lfs"
_BREAKS = re.compile(r"[\r\n]+")
_SURROGATES = re.compile("[\ud800-\udfff]")


class Table(NamedTuple):
    """Named columns of sentences, to be read once; nested columns have dotted names ("translation.en").

    ``read`` gives the columns of some names, block by block.
    """

    where: str
    names: list[str]
    read: Callable[[Sequence[str]], Iterator[list[list[str]]]]

    def columns(self, *names: str) -> list[list[str]]:
        """All sentences of some columns of a small table."""
        blocks = list(self.read(names))
        return [[value for block in blocks for value in block[index]] for index in range(len(names))]


def check_table(setting: str, path: Path) -> None:
    """Raise ``UserError`` if ``path``, for which no file of translations is given, is not a table."""
    if not is_table(path):
        advice = "give the file of translations, or name it .tsv if tabs separate its columns"
        if path.suffix.lower() in OTHERS:
            advice = "save its pairs as .csv, or as .tsv with tabs between columns; unpack an archive first"
        if path.suffix.lower() in {".po", ".pot", ".xliff", ".xlf"}:
            advice = "docs/interface-strings.md makes a table of a catalogue"
        raise UserError(
            f"{setting}.target is not set and {shown_path(path)} is not a table that is read "
            f"({', '.join(TABLES)}); {advice}"
        )


def is_table(path: Path) -> bool:
    """Whether :func:`read_table` knows the suffix, apart from ``.gz``."""
    return Path(path.name.removesuffix(".gz")).suffix.lower() in TABLES


def read_table(path: Path, *, header: bool = True) -> Table:
    """Open a table, whose rows are read later.

    Args:
        header: whether the first line of TSV and CSV names the columns; else they are "1", "2" and so on.

    Raises:
        UserError: if it is missing or malformed, with the line; also while it is read.
    """
    suffix = Path(path.name.removesuffix(".gz")).suffix.lower()
    if suffix in (".tsv", ".csv"):
        return _read_separated(path, suffix, header)
    if suffix == ".tmx":
        return _read_memory(path)
    if suffix in (".parquet", ".arrow"):
        found = _read_arrow(path, suffix)
        return from_arrow(next(found), found, shown_path(path))
    return _read_json(path)


def pick(table: Table, candidates: Sequence[str], advice: str, of_pair: str = NUMBERS) -> str:
    """The first of the candidate columns in the table; raises ``UserError`` with ``advice`` without one.

    Args:
        of_pair: what to do if the line that should name the columns is a pair.
    """
    for name in candidates:
        if name in table.names:
            return name
    if not table.names:
        raise UserError(f"{table.where}: the table is empty; expected sentence pairs")
    wanted = min(candidates, key=len)
    names = "it has"
    has_header = table.names[:1] != ["1"]
    if has_header and {".tsv", ".csv"} & set(Path(table.where).suffixes):
        names = "its first line names"
        advice += f"; if that line is a pair, {of_pair}"
    raise UserError(
        f"{table.where}: no field {shorten(wanted, 100)!r}"
        f"{did_you_mean(nearest(wanted, table.names))}; {names} {listed(table.names)}; {advice}"
    )


def from_arrow(schema: pyarrow.Schema, batches: Iterable[pyarrow.RecordBatch], where: str) -> Table:
    """Columns of Arrow's batches, with dotted names for the parts of structs.

    Raises:
        UserError: for a name that two columns have.
    """
    places: list[tuple[str, list[int]]] = []
    for index, field in enumerate(schema):
        places.append((field.name, [index]))
        if pyarrow.types.is_struct(field.type):
            parts = (field.type.field(part).name for part in range(field.type.num_fields))
            places += ((f"{field.name}.{part}", [index, number]) for number, part in enumerate(parts))
    check_names((name for name, _ in places), where)
    found = dict(places)

    def values(batch: pyarrow.RecordBatch, name: str, first: int) -> list[str]:
        column = batch.column(found[name][0])
        saying = f"{where}: field {shorten(name)!r}: expected text"
        with explained(saying, pyarrow.ArrowException, ValueError, TypeError, OverflowError):
            if len(found[name]) > 1:
                column = pyarrow.compute.struct_field(column, found[name][1:])
            read = column.to_pylist()
        return [_sentence(value, name, where, "row", row) for row, value in enumerate(read, start=first)]

    def read(names: Sequence[str]) -> Iterator[list[list[str]]]:
        first = 1
        for batch in batches:
            yield [values(batch, name, first) for name in names]
            first += len(batch)

    return Table(where, list(found), read)


def check_names(names: Iterable[str], where: str) -> None:
    """Raise ``UserError`` for a name that stands twice: which of the columns is meant is not known."""
    for name, count in Counter(names).items():
        if count > 1 and name:  # a column without a name cannot be chosen
            raise UserError(
                f"{where}: {count} fields are called {shorten(name, 100)!r}; expected every name once"
            )


def _read_arrow(path: Path, suffix: str) -> Iterator[Any]:
    """The schema, then the batches, of a ``.parquet`` or ``.arrow`` file.

    Raises:
        UserError: if the file cannot be read, holds damaged values or text that is not UTF-8, or expands to
            many times its size; also while the batches are read.
    """
    where = shown_path(path)
    with opened(path) as (file, bound):
        if file.peek(len(_POINTER)).startswith(_POINTER):
            raise UserError(f"{where}: this is a Git LFS pointer; fetch the content with 'git lfs pull'")
        saying = f"{where}: not a readable {suffix[1:]} file"
        with explained(saying, pyarrow.ArrowException, OSError, ValueError, KeyError, TypeError):
            if bound is not None:
                raise UserError(f"{where}: packed by gzip; expected a plain {suffix[1:]} file")
            schema, batches = _batches(pyarrow.OSFile(str(path)), suffix)
            yield schema
            for batch in _bounded(batches, expansion_bound(path.stat().st_size), path):
                batch.validate(full=True)
                yield batch


def _batches(source: Any, suffix: str) -> tuple[pyarrow.Schema, Iterable[pyarrow.RecordBatch]]:
    if suffix == ".parquet":
        parquet = pyarrow.parquet.ParquetFile(source, pre_buffer=False)  # or all that was read stays
        return parquet.schema_arrow, parquet.iter_batches(batch_size=ARROW_ROWS)
    if source.read(len(_FILE)) == _FILE:
        file = pyarrow.ipc.open_file(source)
        return file.schema, (file.get_batch(number) for number in range(file.num_record_batches))
    source.seek(0)
    stream = pyarrow.ipc.open_stream(source)
    return stream.schema, stream


def _bounded(batches: Iterable[pyarrow.RecordBatch], bound: int, path: Path) -> Iterator[pyarrow.RecordBatch]:
    """The batches; raises ``UserError`` as soon as their values take more than ``bound`` bytes."""
    size = 0
    for batch in batches:
        # a dictionary is shared between batches, and counted by none
        size += sum(column.nbytes for column in batch if not pyarrow.types.is_dictionary(column.type))
        check_expansion(size, bound, path)
        yield batch


def _read_memory(path: Path) -> Table:
    """Units of a translation memory; a language without a variant has an empty one."""
    units = read_units(path)
    start = list(islice(units, ROWS))
    empty = {name: "" for unit in start for name in unit}
    records = enumerate((empty | unit for unit in chain(start, units)), start=1)
    return _of_records(shown_path(path), list(empty), records)


def _read_separated(path: Path, suffix: str, header: bool) -> Table:
    """Values, with a header or without; ``.csv`` has quotation marks, in ``.tsv`` they are plain characters.

    Commas separate CSV, or the semicolons that spreadsheets write where a comma is the decimal point.
    """
    where = shown_path(path)
    lines = chain.from_iterable(read_line_blocks(path))
    first = next(lines, None)
    if first is None:
        raise UserError(f"{where}: the file is empty; expected a header line with the names of its fields")
    lines = chain([first], lines)
    mark = "\t" if suffix == ".tsv" else max(",;", key=re.sub('"[^"]*"', "", first).count)
    rows = _quoted(lines, mark, where) if suffix == ".csv" else enumerate((x.split(mark) for x in lines), 1)
    start = next(rows, (1, [""]))
    names = start[1] if header else [str(number) for number in range(1, len(start[1]) + 1)]
    rows = rows if header else chain([start], rows)
    heads = [head for names in SIDES.values() for head in names]
    if not header and sum(is_code(code_of(text)) or text.lower() in heads for text in start[1]) > 1:
        told = f"its first line, {listed(start[1])}, seems to name the columns: then choose them by name"
        warnings.warn(f"{where}: {told}", UserNotice, stacklevel=2)
    kind = {"\t": "tab", ",": "comma", ";": "semicolon"}[mark]
    if len(names) == 1:
        raise UserError(
            f"{where}, line 1: no {kind} in {shorten(first)!r}; expected {kind}s between the columns"
        )
    check_names(names, f"{where}, line 1")

    def records() -> Iterator[tuple[int, dict[str, str]]]:
        for number, row in rows:
            if len(row) != len(names):
                found = f"{len(row)} {kind}-separated fields"
                raise UserError(f"{where}, line {number}: {found} where the first line has {len(names)}")
            yield number, dict(zip(names, row))

    return _of_records(where, names, records())


def _quoted(lines: Iterable[str], mark: str, where: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of CSV, each with the number of its last line; a value in quotation marks may have several."""
    reader = csv.reader((line + "\n" for line in lines), delimiter=mark, strict=True)
    try:
        for row in reader:
            if row:
                yield reader.line_num, row
    except csv.Error as error:
        raise UserError(f"{where}, line {reader.line_num}: not valid CSV ({error})") from None


def _read_json(path: Path) -> Table:
    """One JSON object on each line; blank lines are left out."""
    where = shown_path(path)
    lines = enumerate(chain.from_iterable(read_line_blocks(path)), start=1)
    records = ((number, _record(line, f"{where}, line {number}")) for number, line in lines if line.strip())
    start = list(islice(records, 1))
    return _of_records(where, list(start[0][1]) if start else [], chain(start, records))


def _of_records(where: str, names: list[str], records: Iterator[tuple[int, Mapping[str, Any]]]) -> Table:
    """Columns of the values by name that each line has."""

    def value(record: Mapping[str, Any], name: str, number: int) -> str:
        if name not in record:
            hint = did_you_mean(nearest(name, record))
            raise UserError(f"{where}, line {number}: no field {shorten(name, 100)!r}{hint}")
        return _sentence(record[name], name, where, "line", number)

    def read(wanted: Sequence[str]) -> Iterator[list[list[str]]]:
        while block := list(islice(records, ROWS)):
            yield [[value(record, name, number) for number, record in block] for name in wanted]

    return Table(where, names, read)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON; of a key that stands twice, ``json`` would silently keep the last value."""
    values = dict(pairs)
    if len(values) < len(pairs):
        key = shorten(Counter(key for key, _ in pairs).most_common(1)[0][0], 100)
        raise UserError(f"the key {key!r} stands twice; expected each key once")
    return values


def _record(line: str, where: str) -> dict[str, Any]:
    """The object of a line, and the parts of nested ones under dotted names."""
    try:
        record = json.loads(line, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        if line.lstrip().startswith("["):
            record = []
        else:
            raise UserError(
                f"{where}: not valid JSON ({error.msg.removesuffix(' at')} at column {error.colno})"
            ) from None
    except RecursionError:
        raise UserError(f"{where}: nested too deeply; expected an object of sentences") from None
    except UserError as error:
        raise UserError(f"{where}: {error}") from None
    except ValueError:  # of Python, for integers of thousands of digits
        raise UserError(f"{where}: a number has too many digits; expected an object of sentences") from None
    if not isinstance(record, dict):
        hint = "; of a list, jq -c '.[]' makes such lines" if isinstance(record, list) else ""
        raise UserError(f"{where}: expected a JSON object, got {type(record).__name__}{hint}")
    nested = {name: value for name, value in record.items() if isinstance(value, dict)}
    parts = [(f"{name}.{part}", inner) for name, value in nested.items() for part, inner in value.items()]
    check_names([*record, *(name for name, _ in parts)], where)
    return record | dict(parts)


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
