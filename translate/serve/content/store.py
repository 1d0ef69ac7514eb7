"""Translated documents, kept for a while until they are fetched."""

import secrets
import time
from dataclasses import dataclass, field

MAX_BYTES = 64 << 20  # of all documents
MAX_AGE = 15 * 60  # seconds
MAX_DOCUMENTS = 1_000


@dataclass
class StoredDocument:
    """A document and how far it is.

    Attributes:
        name: for the file.
        key: that its owner has, too.
        status: translating, done or error.
        content: the translation, once it is done.
        characters: of its sentences.
        message: what went wrong.
        began: seconds, of a monotonic clock.
    """

    name: str
    key: str = field(default_factory=lambda: secrets.token_hex(32))
    status: str = "translating"
    content: bytes = b""
    characters: int = 0
    message: str = ""
    began: float = field(default_factory=time.monotonic)


class Store:
    """Documents by names that cannot be guessed; the oldest make room for new ones."""

    def __init__(self) -> None:
        self._stored: dict[str, StoredDocument] = {}

    def add(self, name: str) -> tuple[str, StoredDocument]:
        """A new document and the name to ask for it, which has the suffix of the file."""
        suffix = "".join(filter(str.isalnum, name.rpartition(".")[2].lower()))[:8]
        stored = StoredDocument(f"translated.{suffix}")
        token = f"{secrets.token_hex(16)}.{suffix}"
        self._stored[token] = stored
        self._tidy()
        return token, stored

    def find(self, token: str) -> StoredDocument | None:
        """The document of a name, if it is still there."""
        self._tidy()
        return self._stored.get(token)

    def remove(self, token: str) -> None:
        """Forget a document."""
        self._stored.pop(token, None)

    def _tidy(self) -> None:
        oldest = time.monotonic() - MAX_AGE
        for token in [token for token, each in self._stored.items() if each.began < oldest]:
            del self._stored[token]
        size = sum(len(each.content) for each in self._stored.values())
        while len(self._stored) > MAX_DOCUMENTS or size > MAX_BYTES:
            size -= len(self._stored.pop(next(iter(self._stored))).content)
