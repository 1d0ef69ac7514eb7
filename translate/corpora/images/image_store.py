"""Resized images of a corpus in one Arrow file, which a cache keeps; pairs without a readable image go."""

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow

from translate.config.data import SPLITS, DataConfig
from translate.corpora.caches import fingerprint
from translate.corpora.columns import Mapped, Spill, kept_or_temporary
from translate.corpora.corpus import Corpus
from translate.corpora.images.image_files import read_file
from translate.corpora.images.image_names import below, leave_out
from translate.corpora.images.line import split_line
from translate.corpora.images.patches import Image
from translate.corpora.images.scenes import is_scene
from translate.errors import UserError
from translate.text.lines import user_path

VERSION = "2"  # changes with the format of the file and the way images are resized
THREADS = 4
BLOCK = 256  # images that are decoded before they are written
SHOWN = 3  # problems in a message
SCHEMA = pyarrow.schema(
    {
        "name": pyarrow.string(),
        "rows": pyarrow.int32(),  # of patches
        "columns": pyarrow.int32(),
        "pixels": pyarrow.large_binary(),
        "problem": pyarrow.string(),
    }
)


@dataclass(frozen=True)
class ImageStore:
    """Images by name, and the reasons why others could not be read.

    Attributes:
        table: of ``SCHEMA``.
        patch_size: pixels of a patch.
    """

    table: pyarrow.Table
    patch_size: int

    @cached_property
    def index(self) -> dict[str, int]:
        """The row of each name."""
        return {name: row for row, name in enumerate(self.table.column("name").to_pylist())}

    def read(self, name: str) -> Image:
        """The image called ``name``; raises :class:`UserError` if it could not be read."""
        problem = self.problem(name)
        if problem is not None:
            raise UserError(problem)
        row, size = self.index[name], self.patch_size
        rows, columns = (self.table.column(side)[row].as_py() * size for side in ("rows", "columns"))
        flat = np.frombuffer(self.table.column("pixels")[row].as_buffer(), np.uint8)
        return Image(flat.reshape(rows, columns, 3), size)

    def problem(self, name: str) -> str | None:
        """Why the image could not be read, if so."""
        return self.table.column("problem")[self.index[name]].as_py()

    def count(self, name: str) -> int:
        """The number of patches of an image."""
        row = self.index[name]
        return int(self.table.column("rows")[row].as_py() * self.table.column("columns")[row].as_py())


def open_store(
    names: Iterable[str], root: Path, side: int, patch_size: int, cache: Path | None
) -> ImageStore:
    """The images called ``names`` below ``root``, from the ``cache`` if it holds them.

    If one has changed since, by its size or time, all are read again.

    Raises:
        UserError: for a name that leads out of ``root``.
    """
    wanted = sorted(set(names))
    paths = [below(root, name) for name in wanted]
    path = None if cache is None else cache / "images" / f"{_fingerprint(paths, side, patch_size)}.arrow"
    if path is not None and (table := _cached(path)) is not None:
        print(f"{len(wanted):,} images from {path}")
        return ImageStore(table, patch_size)
    print(f"reading {len(wanted):,} images of {root}")
    table = kept_or_temporary(
        path, "the images", lambda file: _read_all(wanted, paths, side, patch_size, file)
    )
    return ImageStore(table, patch_size)


def read_images(corpus: Corpus, data: DataConfig, cache: Path | None) -> Corpus:
    """The corpus with its images of files; pairs whose image cannot be read are dropped and counted.

    Raises:
        UserError: if no pair of a split is left.
    """
    if data.images is None:
        return corpus
    splits = {name: getattr(corpus, name) for name in SPLITS if getattr(corpus, name) is not None}
    names = {name: [split_line(line).image for line in split.source] for name, split in splits.items()}
    named = (image for found in names.values() for image in found if image is not None)
    files = [image for image in named if not is_scene(image)]
    store = open_store(files, user_path(data.images), data.picture_size, data.patch_size, cache)
    dropped, notes = dict(corpus.dropped), list(corpus.notes)
    for name, split in splits.items():
        problems = [store.problem(image) if image in store.index else None for image in names[name]]
        bad = [problem for problem in problems if problem is not None]
        if not bad:
            continue
        shown = "; ".join(bad[:SHOWN]) + (f"; and {len(bad) - SHOWN:,} others" if len(bad) > SHOWN else "")
        if len(bad) == len(split):
            raise UserError(f"data.images: no {name} image can be read; {shown}")
        dropped[name] = {**dropped.get(name, {}), "image": len(bad)}
        notes.append(f"unreadable {name} images: {shown}")
        splits[name] = split.take([row for row, problem in enumerate(problems) if problem is None])
    if data.read == "both":
        splits["train"] = leave_out(splits["train"], data)
    return replace(corpus, dropped=dropped, notes=tuple(notes), images=store, **splits)


def _fingerprint(paths: Sequence[Path], side: int, patch_size: int) -> str:
    parts = [f"{VERSION} {side} {patch_size}"]
    for path in paths:
        try:
            found = os.stat(path)
            parts.append(f"{path}\t{found.st_size} {found.st_mtime_ns}")
        except OSError:
            parts.append(f"{path}\tmissing")
    return fingerprint(parts)


def _read_all(
    names: Sequence[str], paths: Sequence[Path], side: int, patch_size: int, path: Path | None
) -> pyarrow.Table:
    """Decode the images into a table in the file ``path``; raises ``OSError``."""

    def read(name: str, where: Path) -> tuple[str, int, int, bytes, str | None]:
        try:
            image = read_file(where, side, patch_size)
        except UserError as error:
            return name, 0, 0, b"", str(error)
        return name, image.rows, image.columns, image.pixels.tobytes(), None

    with Spill(SCHEMA, path) as spill, ThreadPoolExecutor(min(THREADS, os.cpu_count() or 1)) as pool:
        for start in range(0, len(names), BLOCK):
            block = slice(start, start + BLOCK)
            spill.add(list(zip(*pool.map(read, names[block], paths[block]), strict=True)))
        return spill.finish().table


def _cached(path: Path) -> pyarrow.Table | None:
    """The table in a file, or ``None`` if it is missing or damaged."""
    try:
        table = Mapped.open(path).table
    except (pyarrow.ArrowException, ValueError, OSError):
        return None
    return table if table.schema == SCHEMA else None
