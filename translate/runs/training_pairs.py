"""Fingerprints of a run's training pairs, which tell the pairs of a test set that stand among them."""

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from translate.config.data import TAG
from translate.config.names import shown_path
from translate.corpora.split import Split
from translate.errors import UserError
from translate.runs.run_directory import RunDirectory
from translate.text.bounded import read_bounded
from translate.text.file_writing import aside

BYTES = 5  # of a fingerprint: of a million test pairs, two million others make two look familiar
MAX_FILE = 1 << 30


def write_pairs(directory: RunDirectory, split: Split, start: Path | None = None) -> int:
    """Write the fingerprints of a training split, in their order as numbers; returns how many there are.

    Those of the run that this one starts from are added, for its model has read them, too.
    """
    found = (_fingerprint(*pair) for block in split.blocks() for pair in zip(*block, strict=True))
    numbers = np.unique(np.fromiter(found, np.uint64, len(split)))
    before = None if start is None else _read(start)
    both = numbers if before is None else np.union1d(numbers, before)
    with aside(directory.training_pairs) as new:
        new.write_bytes(both.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :BYTES].tobytes())
    return len(numbers)


def seen_pairs(run: Path, sources: Sequence[str], references: Sequence[Sequence[str]]) -> list[bool] | None:
    """Whether a run was trained on each pair of a test set, but for case and white space.

    Args:
        run: its folder.
        sources: of the test set.
        references: lists of one translation of each; a pair with any of them counts.

    Returns:
        ``None`` if the run has no fingerprints, as one that was not trained here.

    Raises:
        UserError: if they are damaged.
    """
    known = _read(run)
    if known is None:
        return None
    asked = np.array(
        [[_fingerprint(*pair) for pair in zip(sources, lines)] for lines in references], np.uint64
    )
    found: Any = np.isin(asked, known)
    return [bool(seen) for seen in found.any(axis=0)]


def _read(run: Path) -> np.ndarray | None:
    """The fingerprints of a run as numbers (uint64), or ``None`` as :func:`seen_pairs`."""
    directory = RunDirectory(run)
    try:
        content = read_bounded(directory.training_pairs, root=run, limit=MAX_FILE)
    except FileNotFoundError:
        return None
    if len(content) % BYTES:
        raise UserError(f"{shown_path(directory.training_pairs)}: damaged; remove it to go without it")
    known = np.zeros((len(content) // BYTES, 8), np.uint8)
    known[:, :BYTES] = np.frombuffer(content, np.uint8).reshape(-1, BYTES)
    return known.reshape(-1).view("<u8")


def _fingerprint(source: str, target: str) -> int:
    first, _, rest = source.partition(" ")
    sides = (rest if TAG.fullmatch(first) else source, target)  # without the tag of a corpus of a mixture
    text = "\n".join("".join(side.casefold().split()) for side in sides)
    return int.from_bytes(blake2b(text.encode(), digest_size=BYTES).digest(), "little")
