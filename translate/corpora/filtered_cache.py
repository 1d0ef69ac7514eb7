"""The cache of large filtered corpora, so that only the first process reads and filters their files."""

import json
import os
import stat
from dataclasses import asdict
from pathlib import Path

from translate.config.data import DataConfig
from translate.corpora.columns.cache_folder import mark_used
from translate.corpora.columns.fingerprint import fingerprint
from translate.corpora.filters import Filtered, filter_pairs
from translate.corpora.split import Split, SplitReader
from translate.text.aside import told, write_text
from translate.text.bounded import read_json

COUNTS = ("dropped", "num_read", "num_cleaned")


def filtered(reader: SplitReader, data: DataConfig, cache: Path | None, where: str = "") -> Filtered:
    """Filter pairs, or take them from the cache if the files are as they were.

    Args:
        reader: of the pairs.
        data: which filters are on.
        cache: its folder; ``None`` for a file without a name.
        where: the gold links are, for messages.
    Raises:
        UserError: as :func:`filter_pairs`, or if the disk is full.
    """
    state = _state_of(reader.files) if reader.gold is None else None
    path = None
    if cache is not None and state is not None:
        path = cache / "corpora" / f"{fingerprint([repr(asdict(data)), *state])}.arrow"
        if (known := _read(path)) is not None:
            print(f"filtered corpus from {path}", flush=True)
            return known
    with told(path or "the system's folder of temporary files (TMPDIR)"):
        found = filter_pairs(reader, data, path, where)
        if path is not None and path.exists():
            counts = {name: getattr(found, name) for name in COUNTS}
            write_text(path.with_suffix(".json"), json.dumps({"name": found.split.name, **counts}) + "\n")
    return found


def _state_of(files: tuple[Path, ...]) -> list[str] | None:
    """Path, size and time of change of each file; ``None`` if these do not tell whether the text changed."""
    states = [(path, path.stat()) for path in files]
    if not states or not all(stat.S_ISREG(state.st_mode) for _, state in states):
        return None
    return [
        f"{os.path.realpath(path)} {state.st_size} {state.st_mtime_ns} {state.st_ino}"
        for path, state in states
    ]


def _read(path: Path) -> Filtered | None:
    if not path.exists():
        return None
    import pyarrow

    from translate.corpora.columns.mapped import Mapped
    from translate.corpora.columns.spill import DOCUMENT, PAIRS, StoredTable

    try:
        known = read_json(path.with_suffix(".json"))
        mapped = Mapped.open(path)
        mark_used(path)
        if mapped.table.schema not in (PAIRS, PAIRS.append(DOCUMENT)):
            return None
        stored = StoredTable(mapped.table, [mapped])
        source, target, numbers = (stored.column(name) for name in PAIRS.names)
        documents = stored.column("document") if "document" in mapped.table.schema.names else None
        split = Split(source, target, None, numbers, name=str(known["name"]), documents=documents)
        return Filtered(split, dict(known["dropped"]), int(known["num_read"]), int(known["num_cleaned"]))
    except (OSError, ValueError, KeyError, TypeError, pyarrow.ArrowException):
        return None  # damaged, or of a process that is writing it
