"""The files of a recipe, and whether they are still the same when everything is read."""

import glob
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from translate.config.names import listed, shorten, shown_path
from translate.corpora.tables import SUFFIXES, is_table
from translate.errors import UserError
from translate.prepare.recipe import CorpusFiles, HeldFiles, Recipe
from translate.text.reading import check_file, user_path

SPLITS = ("train", "validation", "test")
_BLOCK = 1 << 20  # bytes


@dataclass(frozen=True)
class Input:
    """One file of pairs, or two with the lines of each side.

    Attributes:
        number: of the input in the recipe; with the line it numbers every pair.
        split: index in ``SPLITS``.
        document: a file with the document of each line, or the name of a column.
        fields: the columns of the sides that the recipe names.
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
    """Every input, in the order of the recipe; patterns are expanded, in the order of their names.

    Raises:
        UserError: for a recipe without a corpus, or files that are no pairs.
    """
    if not recipe.corpora:
        raise UserError("no corpus is given; expected NAME=SOURCE_FILE,TARGET_FILE or NAME=TABLE")
    found: list[Input] = []
    for name, files in recipe.corpora.items():
        parts: tuple[CorpusFiles | HeldFiles, ...] = (files, files.validation, files.test)
        for split, part in enumerate(parts):
            found += _inputs_of(name, split, part, files, len(found))
    return found


def _inputs_of(
    name: str, split: int, part: CorpusFiles | HeldFiles, files: CorpusFiles, first: int
) -> list[Input]:
    where = f"corpora.{shorten(name)}" + ("" if split == 0 else f".{SPLITS[split]}")
    if part.source is None:
        if part.target is not None or split == 0:
            raise UserError(f"{where}.source is not set; expected a file of sentences or a table")
        return []
    sources = _paths(part.source, f"{where}.source")
    if part.target is None and (wrong := [path for path in sources if not is_table(path)]):
        raise UserError(
            f"{where}.target is not set and {shown_path(wrong[0])} is not a table; give the file of "
            f"translations, or one table ({', '.join(SUFFIXES)})"
        )
    targets: list[Path] | list[None] = [None] * len(sources)
    if part.target is not None:
        targets = _paths(part.target, f"{where}.target")
    documents: list[Any] = [None] * len(sources)
    if split == 0 and files.document is not None:
        in_table = part.target is None
        documents = (
            [files.document] * len(sources) if in_table else _paths(files.document, f"{where}.document")
        )
    for side, others in (("target", targets), ("document", documents)):
        if len(others) != len(sources):
            raise UserError(
                f"{where}: {len(sources)} source files but {len(others)} {side} files; expected "
                f"as many of each"
            )
    return [
        Input(first + index, name, split, *paths, (files.source_field, files.target_field))
        for index, paths in enumerate(zip(sources, targets, documents))
    ]


def _paths(given: str | list[str], where: str) -> list[Path]:
    found: list[Path] = []
    for name in [given] if isinstance(given, str) else given:
        path = user_path(name)
        if glob.has_magic(name) and not path.exists():
            matching = sorted(glob.glob(str(path)))
            if not matching:
                raise UserError(f"{where}: no file matches {shorten(name, 150)}")
            found += map(Path, matching)
        else:
            found.append(path)
    return found


@dataclass(frozen=True)
class Stamp:
    """What a file was when it was first looked at."""

    size: int
    mtime_ns: int
    sha256: str


def stamp(path: Path, known: Stamp | None = None) -> Stamp:
    """The stamp of a regular file; ``known`` is trusted if size and time are the same.

    Raises:
        UserError: if the file cannot be read, or is a pipe, which cannot be read again.
    """
    check_file(path)
    if not path.is_file():
        raise UserError(
            f"{shown_path(path)}: expected a file, got a pipe; prepare reads a source again to see whether "
            f"it has changed"
        )
    status = path.stat()
    if known is not None and (known.size, known.mtime_ns) == (status.st_size, status.st_mtime_ns):
        return known
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    except OSError as error:
        raise UserError(f"{shown_path(path)}: cannot be read ({error.strerror})") from error
    return Stamp(status.st_size, status.st_mtime_ns, digest.hexdigest())


def check_unchanged(stamps: Mapping[Path, Stamp]) -> None:
    """Raise ``UserError`` naming the files whose content is no longer that of their stamps."""
    changed = [path for path, before in stamps.items() if not _same(path, before)]
    if changed:
        raise UserError(
            f"{listed(map(shown_path, changed))}: changed while the corpora were prepared; nothing was "
            f"published; start again once nobody writes there"
        )


def _same(path: Path, before: Stamp) -> bool:
    try:
        return stamp(path, before).sha256 == before.sha256
    except UserError:
        return False


def all_paths(inputs: Iterable[Input]) -> list[Path]:
    """Every file of the inputs once."""
    return list(dict.fromkeys(path for each in inputs for path in each.paths()))
