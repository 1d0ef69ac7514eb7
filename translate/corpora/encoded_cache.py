"""The cache of encoded corpora: Arrow files that are mapped into memory."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from translate.corpora.batching import EncodedCorpus, Ragged
from translate.text.aside import scratch

VERSION = b"1"  # changes with the format of the files and the encoding of text
SIDES = ("source", "target", "links")


def cache_directory(setting: str | None) -> Path | None:
    """The folder of the setting ``runtime.cache``: ``auto``, a path, or ``None`` for no cache."""
    if setting != "auto":
        return None if setting is None else Path(setting).expanduser()
    own = os.environ.get("TRANSLATE_CACHE")
    if own:
        return Path(own).expanduser()
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "translate"


def fingerprint(parts: Iterable[str | bytes]) -> str:
    """A name for content, equal only for the same parts in the same order."""
    digest = hashlib.sha256(VERSION)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def read_encoded(path: Path) -> EncodedCorpus | None:
    """Map a file of :func:`write_encoded`; returns ``None`` if it is missing or damaged."""
    import pyarrow  # half a second

    if not path.exists():
        return None
    try:
        with pyarrow.memory_map(str(path)) as file:
            table = pyarrow.ipc.open_file(file).read_all()
        columns = {name: table.column(name).chunk(0) for name in table.column_names}
        sides = {
            name: Ragged(column.values.to_numpy(zero_copy_only=True), column.offsets.to_numpy())
            for name, column in columns.items()
        }
        return EncodedCorpus(**sides)
    except (pyarrow.ArrowInvalid, OSError, KeyError, IndexError, TypeError, AttributeError):
        return None


def write_encoded(path: Path, corpus: EncodedCorpus) -> None:
    """Write a corpus aside, then rename it; raises ``OSError``."""
    import pyarrow

    arrays = {}
    for name in SIDES:
        side: Ragged | None = getattr(corpus, name)
        if side is not None:
            offsets = pyarrow.array(np.asarray(side.offsets, np.int64))
            arrays[name] = pyarrow.LargeListArray.from_arrays(offsets, pyarrow.array(side.values))
    table = pyarrow.table(arrays)
    path.parent.mkdir(parents=True, exist_ok=True)
    with scratch(path.parent) as folder:
        new = folder / path.name
        with pyarrow.OSFile(str(new), "wb") as file, pyarrow.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
        new.replace(path)
