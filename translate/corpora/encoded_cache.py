"""The cache of encoded corpora: Arrow files that are mapped into memory."""

import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from translate.corpora.batching import EncodedCorpus
from translate.corpora.columns.cache_folder import mark_used
from translate.corpora.columns.ragged import PART, Ragged, RaggedParts, Rows
from translate.text.aside import scratch

if TYPE_CHECKING:
    from pyarrow import Table

    from translate.corpora.columns.mapped import Mapped

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


def read_encoded(path: Path) -> EncodedCorpus | None:
    """Map a file of the functions below; returns ``None`` if it is missing or damaged."""
    import pyarrow  # takes a moment

    from translate.corpora.columns.mapped import Mapped

    if not path.exists():
        return None
    try:
        mapped = Mapped.open(path)
        mark_used(path)
        return _encoded(mapped.table, [mapped])
    except (pyarrow.ArrowInvalid, OSError, KeyError, IndexError, TypeError, AttributeError):
        return None


def _encoded(table: "Table", mapped: "Sequence[Mapped]") -> EncodedCorpus:
    sides: dict[str, Rows] = {}
    for name in table.column_names:
        parts = [
            Ragged(chunk.values.to_numpy(zero_copy_only=True), chunk.offsets.to_numpy())
            for chunk in table.column(name).chunks
        ]
        sides[name] = parts[0] if len(parts) == 1 else RaggedParts(parts)
    return EncodedCorpus(**sides, mapped=mapped)


def write_encoded(path: Path, corpus: EncodedCorpus) -> None:
    """Write a corpus in memory aside, then rename it; raises ``OSError``."""
    import pyarrow

    arrays = {}
    for name in SIDES:
        side = getattr(corpus, name)
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


def collect_encoded(blocks: Iterable[Sequence[Sequence[Sequence[int]]]], path: Path | None) -> EncodedCorpus:
    """Encoded pairs in a table of the same form, of any size.

    Args:
        blocks: source ids and target ids of some pairs, and links if there are any.
        path: of the file; ``None`` for memory, or if they are many, for a file without a name.
    Raises:
        OSError: if the disk is full.
    """
    import pyarrow

    from translate.corpora.columns.spill import Spill

    kind = pyarrow.large_list(pyarrow.int32())
    waiting: list[list[Sequence[int]]] = []
    spill: Spill | None = None
    with ExitStack() as stack:

        def flush(count: int) -> None:
            batch = [pyarrow.array(side[:count], kind) for side in waiting]
            for side in waiting:
                del side[:count]
            assert spill is not None
            spill.add_batch(pyarrow.RecordBatch.from_arrays(batch, schema=spill.schema))

        for block in blocks:
            if spill is None:
                schema = pyarrow.schema([(name, kind) for name, _ in zip(SIDES, block)])
                spill = stack.enter_context(Spill(schema, path, in_memory=None if path is None else 0))
                waiting = [[] for _ in block]
            for side, rows in zip(waiting, block, strict=True):
                side.extend(rows)
            while len(waiting[0]) >= PART:
                flush(PART)
        if spill is None:
            return EncodedCorpus(Ragged.of([]), Ragged.of([]))
        if waiting[0]:
            flush(len(waiting[0]))
        stored = spill.finish()
    return _encoded(stored.table, stored.mapped)
