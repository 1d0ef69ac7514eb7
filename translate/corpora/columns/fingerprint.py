"""Names for content."""

import hashlib
from collections.abc import Iterable
from itertools import islice

VERSION = b"1"  # changes with the format of cached files and the encoding of text
PARTS = 1 << 13  # that are hashed at a time


def fingerprint(parts: Iterable[str | bytes]) -> str:
    """A name for content, equal only for the same parts in the same order."""
    digest, rest = hashlib.sha256(VERSION), iter(parts)
    while block := list(islice(rest, PARTS)):
        found = [p.encode("utf-8", "surrogatepass") if isinstance(p, str) else p for p in block]
        digest.update(b"".join([piece for p in found for piece in (len(p).to_bytes(8, "little"), p)]))
    return digest.hexdigest()
