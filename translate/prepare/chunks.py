"""Reads the inputs line by line and cuts them into numbered chunks, each a parquet file of bounded size."""

from collections.abc import Iterator
from itertools import chain, zip_longest
from pathlib import Path
from typing import NamedTuple

import pyarrow
import pyarrow.parquet

from translate.config.names import shown_path
from translate.corpora.tables import pick, read_table
from translate.errors import UserError
from translate.prepare.inputs import Input
from translate.prepare.judging.row_keys import text_key
from translate.text.lines import read_line_blocks

CHUNK_PAIRS, CHUNK_CHARACTERS = 20_000, 1 << 23
INPUT_BITS = 40  # of the number of a pair hold its line, those above the number of its input
SCHEMA = pyarrow.schema(
    [
        ("row", pyarrow.int64()),
        ("split", pyarrow.int8()),
        ("corpus", pyarrow.string()),
        ("source", pyarrow.string()),
        ("target", pyarrow.string()),
        ("document", pyarrow.int64()),
        ("line", pyarrow.int64()),
    ]
)
FIELD_ADVICE = "choose one with source_field and target_field of the corpus in a recipe"


class RawPair(NamedTuple):
    """One line of an input."""

    source: str
    target: str
    document: str | None


def write_chunks(given: Input, languages: tuple[str, str], folder: Path) -> int:
    """Write the pairs of an input as chunks into ``folder``; returns their number.

    Raises:
        UserError: for a file that is missing, damaged, or of another length than its translation.
    """
    lines: list[int] = []
    pairs: list[RawPair] = []
    characters = written = 0
    total = 0
    for total, pair in enumerate(read_pairs(given, languages), start=1):
        lines.append(total)
        pairs.append(pair)
        characters += len(pair.source) + len(pair.target)
        if len(pairs) >= CHUNK_PAIRS or characters >= CHUNK_CHARACTERS:
            _write_chunk(given, lines, pairs, folder, written)
            lines, pairs, characters, written = [], [], 0, written + 1
    if pairs:
        _write_chunk(given, lines, pairs, folder, written)
    if not total:
        raise UserError(f"{given}: no sentence pair in it; expected one a line")
    return total


def _write_chunk(given: Input, lines: list[int], pairs: list[RawPair], folder: Path, number: int) -> None:
    documents = [
        None if pair.document is None else text_key(f"{given.corpus}\n{pair.document}") for pair in pairs
    ]
    columns = [
        [given.number << INPUT_BITS | line for line in lines],
        [given.split] * len(lines),
        [given.corpus] * len(lines),
        [pair.source for pair in pairs],
        [pair.target for pair in pairs],
        documents,
        lines,
    ]
    table = pyarrow.table([pyarrow.array(c, f.type) for c, f in zip(columns, SCHEMA)], SCHEMA)
    pyarrow.parquet.write_table(table, folder / f"{given.number:06}-{number:06}.parquet", compression="zstd")


def read_pairs(given: Input, languages: tuple[str, str]) -> Iterator[RawPair]:
    """The pairs of an input, one after the other; only the lines that are at work are in memory."""
    if given.target is not None:
        document = given.document if isinstance(given.document, Path) else None
        return _side_by_side(given.source, given.target, document)
    column = None if given.document is None else str(given.document)
    return _of_table(given, languages, column)


def _side_by_side(source: Path, target: Path, document: Path | None) -> Iterator[RawPair]:
    paths = [source, target, *(() if document is None else (document,))]
    sides = [chain.from_iterable(read_line_blocks(path)) for path in paths]
    for number, lines in enumerate(zip_longest(*sides), start=1):
        if None in lines:
            short = paths[lines.index(None)]
            long = next(path for path, line in zip(paths, lines) if line is not None)
            raise UserError(
                f"{shown_path(short)} has {number - 1:,} lines but {shown_path(long)} has more; line n "
                f"of one must belong to line n of the other"
            )
        yield RawPair(lines[0], lines[1], lines[2] if document is not None else None)


def _of_table(given: Input, languages: tuple[str, str], document: str | None) -> Iterator[RawPair]:
    table = read_table(given.source)
    names = [
        pick(table, [field] if field is not None else [language, f"translation.{language}"], FIELD_ADVICE)
        for field, language in zip(given.fields, languages)
    ]
    if document is not None:
        names.append(pick(table, [document], "choose one with document of the corpus in a recipe"))
    for columns in table.read(names):
        for values in zip(*columns):
            yield RawPair(values[0], values[1], values[2] if document is not None else None)
