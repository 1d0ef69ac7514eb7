"""Files of clients, such as translated documents, in a folder that all workers of a server share."""

import json
import math
import os
import re
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_NAME = re.compile(r"[0-9a-f]{32}(\.[a-z0-9]{0,8})?")


def new_name(suffix: str = "") -> str:
    """A name that nobody guesses, with the letters and digits of a suffix."""
    kept = "".join(character for character in suffix.lower() if character.isascii() and character.isalnum())
    return f"{secrets.token_hex(16)}.{kept[:8]}" if suffix else secrets.token_hex(16)


@dataclass(frozen=True)
class Store:
    """Files, each with fields for JSON and a content; the oldest make room for new ones.

    Attributes:
        folder: where they lie.
        most: how many there may be.
        most_bytes: of all of them.
        most_seconds: for which a file is kept.
    """

    folder: Path
    most: int = 1_000
    most_bytes: int = 1 << 26
    most_seconds: float = 15 * 60

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)

    def put(self, name: str, fields: dict[str, Any], content: bytes = b"") -> None:
        """Keep a file; another worker never sees a part of it."""
        aside = self.folder / f"{secrets.token_hex(8)}.part"
        aside.write_bytes(json.dumps(fields).encode() + b"\n" + content)
        os.replace(aside, self.folder / name)
        self._tidy()

    def get(self, name: object) -> tuple[dict[str, Any], bytes] | None:
        """The fields and the content of a file, if it is still there."""
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            return None
        if self.most_seconds < math.inf:
            self._tidy()
        try:
            fields, _, content = (self.folder / name).read_bytes().partition(b"\n")
        except FileNotFoundError:
            return None
        return json.loads(fields), content

    def touch(self, name: str) -> None:
        """Keep a file for longer, if it is still there."""
        with suppress(FileNotFoundError):
            os.utime(self.folder / name)

    def names(self) -> list[str]:
        """The names of all files, the oldest first."""
        return [name for _, name, _ in self._files()]

    def remove(self, name: str) -> None:
        """Forget a file, if it is still there."""
        if _NAME.fullmatch(name):
            (self.folder / name).unlink(missing_ok=True)

    def _files(self) -> list[tuple[float, str, int]]:
        """When each file was written, its name, and its bytes; the oldest first."""
        found = []
        for entry in os.scandir(self.folder):
            with suppress(FileNotFoundError):
                found.append((entry.stat().st_mtime, entry.name, entry.stat().st_size))
        return sorted(file for file in found if _NAME.fullmatch(file[1]))

    def _tidy(self) -> None:
        files = self._files()
        count, size = len(files), sum(size for _, _, size in files)
        for written, name, own in files:
            is_old = written < time.time() - self.most_seconds
            if is_old or count > self.most or size > self.most_bytes:
                self.remove(name)
                count, size = count - 1, size - own
