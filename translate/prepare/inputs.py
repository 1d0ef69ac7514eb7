"""The files of a recipe: which there are, whether they stay the same, and their pairs in chunks."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet

from translate.config.data import SPLITS
from translate.config.names import shorten, shown_path
from translate.corpora.local_files import check_language, has_no_header, line_blocks, matching, usual_columns
from translate.corpora.tables import check_table, pick, read_table
from translate.errors import UserError
from translate.prepare.recipe import CorpusFiles, HeldFiles, Recipe
from translate.prepare.row_keys import text_keys
from translate.text.bounded import checksum, explained
from translate.text.lines import check_file

CHUNK_PAIRS, CHUNK_CHARACTERS = 20_000, 1 << 23
INPUT_BITS = 40  # the lower bits of a pair's number hold its line, those above them the number of its input
RAW = pyarrow.schema(
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

RawPair = tuple[str, ...]  # source, target and, if it is known, document


@dataclass(frozen=True)
class Input:
    """One table of pairs, or two files with the lines of each side.

    Attributes:
        number: of the input in the recipe; together with the line it numbers every pair.
        split: index in ``SPLITS``.
        document: a file with the document of each line, or the name of a column of the table.
        fields: the columns of both sides that the recipe names.
    """

    number: int
    corpus: str
    split: int
    source: Path
    target: Path | None
    document: Path | str | None
    fields: tuple[str | None, str | None] = (None, None)

    def paths(self) -> list[Path]:
        """The files that are read."""
        found = (self.source, self.target, self.document)
        return [path for path in found if isinstance(path, Path)]

    def __str__(self) -> str:
        return " and ".join(map(shown_path, self.paths()[:2]))


def list_inputs(recipe: Recipe) -> list[Input]:
    """Every input in the order of the recipe; a pattern gives its files in the order of their names.

    Raises:
        UserError: for a recipe without a corpus, or files that are no pairs, or by their names swapped.
    """
    if not recipe.corpora:
        raise UserError("no corpus is given; expected NAME=SOURCE_FILE,TARGET_FILE or NAME=TABLE")
    found: list[Input] = []
    for name, files in recipe.corpora.items():
        parts: tuple[CorpusFiles | HeldFiles, ...] = (files, files.validation, files.test)
        for split, part in enumerate(parts):
            found += _inputs_of(name, split, part, files, len(found))
    languages = recipe.source_language, recipe.target_language
    for given in found:
        if given.target is not None:
            for path, both in ((given.source, languages), (given.target, languages[::-1])):
                check_language(path, *both, f"exchange the files of the corpus {shorten(given.corpus)}")
    return found


def _inputs_of(
    name: str, split: int, part: CorpusFiles | HeldFiles, files: CorpusFiles, first: int
) -> list[Input]:
    where = f"corpora.{shorten(name)}" + ("" if split == 0 else f".{SPLITS[split]}")
    if part.source is None:
        if part.target is not None or split == 0:
            raise UserError(f"{where}.source is not set; expected a file of sentences or a table")
        return []
    sources = _listed(part.source, f"{where}.source")
    for path in sources if part.target is None else ():
        check_table(where, path)
    columns: list[list[Any]] = [sources]
    for side, listed in (("target", part.target), ("document", files.document if split == 0 else None)):
        of_table = side == "document" and part.target is None  # the name of a column
        if listed is None or of_table:
            columns.append([listed] * len(sources))
        else:
            columns.append([*_listed(listed, f"{where}.{side}")])
        if len(columns[-1]) != len(sources):
            raise UserError(
                f"{where}: {len(sources)} source files but {len(columns[-1])} {side} files; expected as many "
                "of each"
            )
    fields = files.source_field, files.target_field
    return [
        Input(first + index, name, split, source, target, document, fields)
        for index, (source, target, document) in enumerate(zip(*columns))
    ]


def _listed(given: str | list[str], where: str) -> list[Path]:
    names = [given] if isinstance(given, str) else given
    try:
        return [path for name in names for path in matching(name)]
    except UserError as error:
        raise UserError(f"{where}: {error}") from error


def digest_of(path: Path) -> str:
    """The SHA-256 of a file; raises ``UserError`` if it cannot be read, or is a pipe."""
    check_file(path)
    if not path.is_file():
        raise UserError(
            f"{shown_path(path)}: expected a file, got a pipe; prepare reads a source again to see whether "
            f"it has changed"
        )
    with explained(f"{shown_path(path)}: cannot be read", OSError):
        return checksum(path)


def write_chunks(given: Input, languages: tuple[str, str], folder: Path) -> int:
    """Write the pairs of an input as parquet files of bounded size into ``folder``; returns their number.

    Raises:
        UserError: for a file that is missing, damaged, or of another length than its translation.
    """
    pairs = (pair for block in _blocks(given, languages) for pair in zip(*block))
    total = 0
    for number, chunk in enumerate(_chunks(pairs)):
        lines = range(total + 1, total + len(chunk) + 1)
        total += len(chunk)
        sources, targets, *documents = zip(*chunk)
        columns = (
            [given.number << INPUT_BITS | line for line in lines],
            [given.split] * len(chunk),
            [given.corpus] * len(chunk),
            sources,
            targets,
            text_keys(f"{given.corpus}\n{name}" for name in documents[0])
            if documents
            else [None] * len(chunk),
            lines,
        )
        table = pyarrow.table([pyarrow.array(c, f.type) for c, f in zip(columns, RAW)], RAW)
        path = folder / f"{given.number:06}-{number:06}.parquet"
        pyarrow.parquet.write_table(table, path, compression="zstd")
    if not total:
        raise UserError(f"{given}: no sentence pair in it; expected one a line")
    return total


def _chunks(pairs: Iterable[RawPair]) -> Iterator[list[RawPair]]:
    chunk: list[RawPair] = []
    characters = 0
    for pair in pairs:
        chunk.append(pair)
        characters += len(pair[0]) + len(pair[1])
        if len(chunk) >= CHUNK_PAIRS or characters >= CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


def _blocks(given: Input, languages: tuple[str, str]) -> Iterator[list[list[str]]]:
    """The columns of the pairs, block by block: source, target and, if they are known, documents."""
    if given.target is not None:
        return line_blocks(*given.paths())
    document = None if given.document is None else str(given.document)
    table = read_table(given.source, header=not has_no_header(*given.fields, document))
    own = f"--set corpora.{shorten(given.corpus)}"
    advice = f"choose both by {own}.source_field=NAME {own}.target_field=NAME"
    names = [
        pick(table, usual_columns(table, side, language) if field is None else [field], advice)
        for side, field, language in zip(("source", "target"), given.fields, languages)
    ]
    if document is not None:
        names.append(pick(table, [document], f"choose one by {own}.document=NAME"))
    return table.read(names)
