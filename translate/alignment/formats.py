"""Writes alignments: Pharaoh links, JSON, and JSON lines."""

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

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
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in (*LINKS, *TABLES):
        expected = ", ".join((*LINKS, *TABLES))
        raise UserError(f"{path}: expected one of {expected}, got {path.suffix or 'no extension'}")
    with aside(path) as new, new.open("w", encoding="utf-8", newline="\n") as file:
        if suffix == ".json":
            dicts = [_dictionary(alignment, threshold) for alignment in alignments]
            json.dump(dicts[0] if len(dicts) == 1 else dicts, file, ensure_ascii=False)
            file.write("\n")
        else:
            _write_lines(alignments, file, suffix, threshold, weights=weights)
    return path


def _write_lines(
    alignments: Iterable[Alignment], file: TextIO, suffix: str, threshold: float | None, *, weights: bool
) -> None:
    for alignment in alignments:
        if suffix == ".jsonl":
            print(json.dumps(_dictionary(alignment, threshold), ensure_ascii=False), file=file)
        else:
            print(alignment.pharaoh(threshold, weights=weights), file=file)


def _dictionary(alignment: Alignment, threshold: float | None) -> dict[str, Any]:
    if threshold is not None:
        alignment = replace(alignment, threshold=threshold)
    return alignment.to_dict()
