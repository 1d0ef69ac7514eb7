"""The files of a recipe: which there are, whether they stay the same, and their pairs in chunks."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path

import pyarrow
import pyarrow.parquet

from translate.config.names import counted, shorten, shown_path
from translate.corpora.local_files import check_language, has_no_header, matching, usual_columns
from translate.corpora.tables import check_table, pick, read_table
from translate.errors import UserError
from translate.prepare.recipe import CorpusFiles, HeldFiles, Recipe
from translate.prepare.row_keys import text_key
from translate.text.bounded import checksum
from translate.text.lines import check_file, read_line_blocks

SPLITS = ("train", "validation", "test")
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

RawPair = tuple[str, str, str | None]  # source, target, document


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
    targets: list[Path | None] = [None] * len(sources)
    documents: list[Path | str | None] = [None] * len(sources)
    if part.target is not None:
        targets = [*_listed(part.target, f"{where}.target")]
    if split == 0 and files.document is not None:
        if part.target is None:
            documents = [str(files.document)] * len(sources)
        else:
            documents = [*_listed(files.document, f"{where}.document")]
    for side, count in (("target", len(targets)), ("document", len(documents))):
        if count != len(sources):
            raise UserError(
                f"{where}: {len(sources)} source files but {count} {side} files; expected as many of each"
            )
    fields = files.source_field, files.target_field
    return [
        Input(first + index, name, split, *paths, fields)
        for index, paths in enumerate(zip(sources, targets, documents))
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
    try:
        return checksum(path)
    except OSError as error:
        raise UserError(f"{shown_path(path)}: cannot be read ({error.strerror})") from error


def write_chunks(given: Input, languages: tuple[str, str], folder: Path) -> int:
    """Write the pairs of an input as parquet files of bounded size into ``folder``; returns their number.

    Raises:
        UserError: for a file that is missing, damaged, or of another length than its translation.
    """
    pairs = _side_by_side(given) if given.target is not None else _of_table(given, languages)
    total = 0
    for number, chunk in enumerate(_chunks(pairs)):
        lines = range(total + 1, total + len(chunk) + 1)
        total += len(chunk)
        sources, targets, documents = zip(*chunk)
        columns = (
            [given.number << INPUT_BITS | line for line in lines],
            [given.split] * len(chunk),
            [given.corpus] * len(chunk),
            sources,
            targets,
            [None if name is None else text_key(f"{given.corpus}\n{name}") for name in documents],
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


def _side_by_side(given: Input) -> Iterator[RawPair]:
    paths = given.paths()
    sides = [chain.from_iterable(read_line_blocks(path)) for path in paths]
    for number, lines in enumerate(zip_longest(*sides), start=1):
        if None in lines:
            short = paths[lines.index(None)]
            long = next(path for path, line in zip(paths, lines) if line is not None)
            raise UserError(
                f"{shown_path(short)} has {counted(number - 1, 'line')} but {shown_path(long)} has more; "
                f"line n of one must belong to line n of the other"
            )
        yield lines[0], lines[1], lines[2] if len(lines) > 2 else None


def _of_table(given: Input, languages: tuple[str, str]) -> Iterator[RawPair]:
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
    for columns in table.read(names):
        for values in zip(*columns):
            yield values[0], values[1], values[2] if len(values) > 2 else None
