"""Resized pictures of a corpus in one Arrow file, which is mapped into memory."""

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from translate.corpora.images.patches import Picture
from translate.corpora.images.picture_files import read_file
from translate.errors import UserError
from translate.text.aside import scratch

if TYPE_CHECKING:
    import pyarrow

VERSION = "1"  # changes with the format of the file and the way pictures are resized
THREADS = 4
BLOCK = 256  # pictures that are decoded before they are written


@dataclass(frozen=True)
class PictureStore:
    """Pictures by name, and the reasons why others could not be read.

    Attributes:
        table: columns name, rows and columns (of patches), pixels, problem.
        index: the row of each name.
        patch_size: pixels of a patch.
    """

    table: "pyarrow.Table"
    index: dict[str, int]
    patch_size: int

    def read(self, name: str) -> Picture:
        """The picture called ``name``; raises :class:`UserError` if it could not be read."""
        row = self.index[name]
        problem = self.problem(name)
        if problem is not None:
            raise UserError(problem)
        rows, columns = (int(self.table.column(side)[row].as_py()) for side in ("rows", "columns"))
        flat = np.frombuffer(self.table.column("pixels")[row].as_buffer(), np.uint8)
        size = self.patch_size
        return Picture(flat.reshape(rows * size, columns * size, 3), size)

    def problem(self, name: str) -> str | None:
        """Why the picture could not be read, if so."""
        found: str | None = self.table.column("problem")[self.index[name]].as_py()
        return found

    def count(self, name: str) -> int:
        """The number of patches of a picture."""
        row = self.index[name]
        return int(self.table.column("rows")[row].as_py() * self.table.column("columns")[row].as_py())


def open_store(
    names: Iterable[str],
    root: Path,
    side: int,
    patch_size: int,
    folder: Path | None,
    report: Callable[[str], None] = print,
) -> PictureStore:
    """The pictures called ``names`` below ``root``, from the cache in ``folder`` if it holds them.

    A picture that has changed since, by its size or time, is read anew with all others.

    Raises:
        UserError: for a name that leads out of ``root``.
    """
    wanted = sorted(set(names))
    paths = [below(root, name) for name in wanted]
    path = None
    if folder is not None:
        path = folder / "pictures" / f"{_fingerprint(wanted, paths, side, patch_size)}.arrow"
        table = _mapped(path)
        if table is not None:
            report(f"{len(wanted):,} pictures from {path}")
            return _store(table, patch_size)
    report(f"reading {len(wanted):,} pictures of {root}")
    if path is None:
        return _store(_in_memory(wanted, paths, side, patch_size), patch_size)
    try:
        _write(path, wanted, paths, side, patch_size)
    except OSError as error:  # without the cache everything works, with more memory
        report(f"note: the pictures cannot be kept in {path.parent} ({error.strerror})")
        return _store(_in_memory(wanted, paths, side, patch_size), patch_size)
    table = _mapped(path)
    assert table is not None
    return _store(table, patch_size)


def below(root: Path, name: str) -> Path:
    """The file ``name`` in the folder ``root``; raises :class:`UserError` for one outside it."""
    parts = Path(name).parts
    if not parts or Path(name).is_absolute() or ".." in parts or "\x00" in name:
        raise UserError(f"{name[:100]!r}: expected the name of a picture inside {root}")
    return root / name


def _store(table: "pyarrow.Table", patch_size: int) -> PictureStore:
    index = {name: row for row, name in enumerate(table.column("name").to_pylist())}
    return PictureStore(table, index, patch_size)


def _fingerprint(names: Sequence[str], paths: Sequence[Path], side: int, patch_size: int) -> str:
    digest = hashlib.sha256(f"{VERSION} {side} {patch_size}".encode())
    for name, path in zip(names, paths, strict=True):
        try:
            found = os.stat(path)
            state = f"{found.st_size} {found.st_mtime_ns}"
        except OSError:
            state = "missing"
        digest.update(f"\n{name}\t{path}\t{state}".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _batches(
    names: Sequence[str], paths: Sequence[Path], side: int, patch_size: int
) -> Iterable["pyarrow.RecordBatch"]:
    import pyarrow

    def read(path: Path) -> Picture | str:
        try:
            return read_file(path, side, patch_size)
        except UserError as error:
            return str(error)

    with ThreadPoolExecutor(min(THREADS, os.cpu_count() or 1)) as pool:
        for start in range(0, len(names), BLOCK):
            found = list(pool.map(read, paths[start : start + BLOCK]))
            good = [each if isinstance(each, Picture) else None for each in found]
            yield pyarrow.record_batch(
                {
                    "name": pyarrow.array(names[start : start + BLOCK], pyarrow.string()),
                    "rows": pyarrow.array([each.rows if each else 0 for each in good], pyarrow.int32()),
                    "columns": pyarrow.array([each.columns if each else 0 for each in good], pyarrow.int32()),
                    "pixels": pyarrow.array(
                        [each.pixels.tobytes() if each else b"" for each in good], pyarrow.large_binary()
                    ),
                    "problem": pyarrow.array(
                        [each if isinstance(each, str) else None for each in found], pyarrow.string()
                    ),
                }
            )


def _in_memory(names: Sequence[str], paths: Sequence[Path], side: int, patch_size: int) -> "pyarrow.Table":
    import pyarrow

    return pyarrow.Table.from_batches(_batches(names, paths, side, patch_size)).combine_chunks()


def _write(path: Path, names: Sequence[str], paths: Sequence[Path], side: int, patch_size: int) -> None:
    """Write the pictures aside, then rename the file; raises ``OSError``."""
    import pyarrow

    path.parent.mkdir(parents=True, exist_ok=True)
    with scratch(path.parent) as folder:
        new = folder / path.name
        writer = None
        with pyarrow.OSFile(str(new), "wb") as file:
            for batch in _batches(names, paths, side, patch_size):
                writer = writer or pyarrow.ipc.new_file(file, batch.schema)
                writer.write_batch(batch)
            if writer is not None:
                writer.close()
        new.replace(path)


def _mapped(path: Path) -> "pyarrow.Table | None":
    """The table in a file, or ``None`` if it is missing or damaged."""
    import pyarrow

    if not path.exists():
        return None
    try:
        with pyarrow.memory_map(str(path)) as file:
            table = pyarrow.ipc.open_file(file).read_all()
        return table if "problem" in table.column_names else None
    except (pyarrow.ArrowException, OSError):
        return None
