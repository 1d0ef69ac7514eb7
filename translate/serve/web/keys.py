"""Keys of clients, compared in constant time."""

import hashlib
import hmac
from pathlib import Path

from translate.errors import UserError
from translate.text.bounded import read_bounded

SHORTEST, LONGEST = 16, 256  # characters of a key


class Keys:
    """The keys that a server accepts; without any, everybody may use it.

    Args:
        keys: of clients.
    """

    def __init__(self, keys: list[str] | None = None) -> None:
        self._digests = [_digest(key) for key in keys or []]

    @classmethod
    def read(cls, path: Path) -> "Keys":
        """The keys of a file, one a line; blank lines and lines that begin with ``#`` are none.

        Raises:
            UserError: if the file cannot be read, has no key, or one that is too short to be safe.
        """
        try:
            lines = read_bounded(path, expected="a file of keys").decode().splitlines()
        except UnicodeDecodeError as error:
            raise UserError(f"{path}: not UTF-8; expected one key a line") from error
        keys = [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]
        if not keys:
            raise UserError(f"{path}: there is no key in it; expected one a line")
        for number, key in enumerate(keys, 1):
            if not SHORTEST <= len(key) <= LONGEST or not key.isascii() or not key.isprintable():
                raise UserError(
                    f"{path}: key {number}: expected {SHORTEST} to {LONGEST} printable ASCII characters, "
                    f"got {len(key)} characters"
                )
        return cls(keys)

    @property
    def needed(self) -> bool:
        """Whether a request needs a key."""
        return bool(self._digests)

    def accept(self, key: str | None) -> bool:
        """Whether a request with this key, or with none, may be answered; the time does not depend on it."""
        digest = _digest(key or "")
        found = sum(hmac.compare_digest(digest, known) for known in self._digests)
        return not self._digests or found > 0


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
