"""Arrow files that are mapped into memory, whose pages are given back when they have been read."""

import mmap
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import pyarrow
import pyarrow.ipc

LARGE = 1 << 28  # bytes of a table whose pages are given back; a smaller one may stay in memory


class Mapped:
    """A table whose values lie in a file; reading a row reads its pages.

    The system counts pages that were read as memory of this process until they are given back, which loses
    nothing: they are in the file, and mostly in the system's cache, too.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.is_large = len(self._map) >= LARGE
        self.table = pyarrow.ipc.open_file(pyarrow.py_buffer(self._map)).read_all()

    @classmethod
    def open(cls, path: Path) -> "Mapped":
        """Map a file of Arrow's file format; raises ``OSError`` or ``pyarrow.ArrowInvalid``."""
        with path.open("rb") as file:
            try:
                return cls(file)
            except ValueError as error:  # mmap refuses an empty file
                raise pyarrow.ArrowInvalid(str(error)) from error

    def release(self) -> None:
        """Give back the pages of a large file, or of one of those that are large together."""
        if self.is_large:
            self.give_back()

    def give_back(self) -> None:
        """Give back the pages, however many."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED)

    @staticmethod
    def join(files: "Sequence[Mapped]") -> None:
        """Take the files for parts of one table."""
        is_large = sum(len(each._map) for each in files) >= LARGE
        for each in files:
            each.is_large = is_large
