"""Writes alignments: Pharaoh links, JSON, and JSON lines."""

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from translate.alignment.alignment import Alignment
from translate.errors import UserError
from translate.text.file_writing import aside

LINKS = (".txt", ".pharaoh", ".links")
TABLES = (".json", ".jsonl")


def write_alignments(
    alignments: Iterable[Alignment],
    path: str | Path,
    *,
    threshold: float | None = None,
    weights: bool = False,
) -> Path:
    """Write alignments; the extension chooses the format.

    - `.txt`, `.pharaoh`, `.links`: Pharaoh links, a line for every pair; with `weights` as `0-0:0.9412`
    - `.json`: `Alignment.to_dict` of one alignment, or a list of several; `.jsonl`: one on each line

    Args:
        threshold: used instead of the alignments' own; see `Alignment.links`.
        weights: write Pharaoh links with their weights.
    Raises:
        UserError: for another extension.
    """
    if isinstance(alignments, Alignment):
        raise UserError("expected a list of alignments; write [alignment]")
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in (*LINKS, *TABLES):
        expected = ", ".join((*LINKS, *TABLES))
        raise UserError(f"{path}: expected one of {expected}, got {path.suffix or 'no extension'}")
    if threshold is not None:
        alignments = (replace(alignment, threshold=threshold) for alignment in alignments)
    lines: Iterable[str] = (
        alignment.pharaoh(weights=weights)
        if suffix in LINKS
        else json.dumps(alignment.to_dict(), ensure_ascii=False)
        for alignment in alignments
    )
    with aside(path) as new, new.open("w", encoding="utf-8", newline="\n") as file:
        if suffix == ".json":
            found = list(lines)
            lines = found if len(found) == 1 else [f"[{', '.join(found)}]"]
        file.writelines(f"{line}\n" for line in lines)
    return path
