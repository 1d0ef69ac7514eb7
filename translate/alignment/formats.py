"""Reads and writes alignments: Pharaoh links, TSV, JSON, JSON lines, and numpy's npz."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO
from zipfile import BadZipFile, ZipFile

import numpy as np

from translate.alignment.alignment import Alignment
from translate.config.names import shorten, shown_path
from translate.errors import UserError
from translate.text.bounded import check_regular
from translate.text.file_writing import aside

LINKS = (".txt", ".pharaoh", ".links")
TABLES = (".tsv", ".json", ".jsonl", ".npz")
MAX_UNPACKED = 4 << 30  # bytes of the arrays in an npz file
COLUMNS = ("pair", "source", "source_word", "target", "target_word", "weight", "link")


def write_alignments(
    alignments: Iterable[Alignment],
    path: str | Path,
    *,
    threshold: float | None = None,
    weights: bool = False,
) -> Path:
    """Write alignments; the extension chooses the format.

    - `.txt`, `.pharaoh`, `.links`: Pharaoh links, a line for every pair; with `weights` as `0-0:0.9412`
    - `.tsv`: a line for every weight above zero, with columns `COLUMNS`; pairs count from 1, words from 0
    - `.json`: `Alignment.to_dict` of one alignment, or a list of several; `.jsonl`: one on each line
    - `.npz`: for all pairs one after another, `weights`, `source_words` and `target_words`; for every pair,
      the numbers of words `source_counts` and `target_counts`, and its `threshold`

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
    if suffix == ".npz":
        arrays = _arrays(list(alignments), threshold)
        with aside(path) as new, new.open("wb") as binary:
            np.savez_compressed(binary, **arrays)  # type: ignore[arg-type]
        return path
    with aside(path) as new, new.open("w", encoding="utf-8", newline="\n") as file:
        if suffix == ".json":
            dicts = [_dictionary(alignment, threshold) for alignment in alignments]
            json.dump(dicts[0] if len(dicts) == 1 else dicts, file, ensure_ascii=False)
            file.write("\n")
        else:
            _write_lines(alignments, file, suffix, threshold, weights=weights)
    return path


def read_alignments(path: str | Path) -> list[Alignment]:
    """Read `.json`, `.jsonl` or `.npz` of `write_alignments`; raises UserError for anything else.

    A file that somebody else wrote may be read: it runs no code, and blocks, nests or unpacks to no end.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    read: Mapping[str, Callable[[Path], list[Alignment]]] = {
        ".json": _read_json,
        ".jsonl": lambda path: [Alignment.from_dict(json.loads(line)) for line in _text_lines(path)],
        ".npz": _read_arrays,
    }
    if suffix not in read:
        raise UserError(f"{path}: expected one of {', '.join(read)}, got {path.suffix or 'no extension'}")
    try:
        check_regular(path)
        return read[suffix](path)
    except UserError as error:
        raise UserError(_unreadable(path, error)) from error
    except RecursionError as error:
        raise UserError(_unreadable(path, "nested too deeply")) from error
    except (OSError, ValueError, KeyError, TypeError, BadZipFile, MemoryError) as error:
        raise UserError(_unreadable(path, error)) from error


def _unreadable(path: Path, reason: object) -> str:
    return f"{shown_path(path)}: cannot be read as alignments ({shorten(reason, 300)})"


def _write_lines(
    alignments: Iterable[Alignment], file: TextIO, suffix: str, threshold: float | None, *, weights: bool
) -> None:
    if suffix == ".tsv":
        print(*COLUMNS, sep="\t", file=file)
    for number, alignment in enumerate(alignments, start=1):
        if suffix == ".tsv":
            file.writelines("\t".join(row) + "\n" for row in _rows(number, alignment, threshold))
        elif suffix == ".jsonl":
            print(json.dumps(_dictionary(alignment, threshold), ensure_ascii=False), file=file)
        else:
            print(alignment.pharaoh(threshold, weights=weights), file=file)


def _rows(number: int, alignment: Alignment, threshold: float | None) -> Iterator[tuple[str, ...]]:
    links = alignment.links(threshold)
    for target, source in np.argwhere(alignment.weights > 0).tolist():
        yield (
            str(number),
            str(source),
            _escape(alignment.source_words[source]),
            str(target),
            _escape(alignment.target_words[target]),
            f"{alignment.weights[target, source]:.6g}",
            str(int((source, target) in links)),
        )


def _escape(word: str) -> str:
    """The word without tabs and line ends, which are escaped as in Python, as is a backslash."""
    for character, written in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
        word = word.replace(character, written)
    return word


def _dictionary(alignment: Alignment, threshold: float | None) -> dict[str, Any]:
    if threshold is not None:
        alignment = replace(alignment, threshold=threshold)
    return alignment.to_dict()


def _arrays(alignments: list[Alignment], threshold: float | None) -> dict[str, np.ndarray]:
    weights = [alignment.weights.ravel() for alignment in alignments]
    thresholds = [alignment.threshold if threshold is None else threshold for alignment in alignments]
    arrays = {
        "weights": np.concatenate([np.zeros(0, np.float32), *weights]),
        "threshold": np.array(thresholds, dtype=np.float64),
    }
    for side in ("source", "target"):
        words = [getattr(alignment, f"{side}_words") for alignment in alignments]
        arrays[f"{side}_words"] = np.array([word for sentence in words for word in sentence], dtype=str)
        arrays[f"{side}_counts"] = np.array([len(sentence) for sentence in words], dtype=np.int64)
    return arrays


def _read_arrays(path: Path) -> list[Alignment]:
    with ZipFile(path) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
    if unpacked > MAX_UNPACKED:
        raise ValueError(f"larger than {MAX_UNPACKED:,} bytes once unpacked")
    with np.load(path, allow_pickle=False) as arrays:
        counts = np.concatenate([arrays["source_counts"], arrays["target_counts"]])
        if (counts < 0).any():
            raise ValueError("a sentence of fewer than 0 words")
        sides = [
            np.split(arrays[f"{side}_words"], np.cumsum(arrays[f"{side}_counts"])[:-1])
            for side in ("source", "target")
        ]
        cells = arrays["source_counts"] * arrays["target_counts"]
        weights = np.split(arrays["weights"], np.cumsum(cells)[:-1])
        thresholds = arrays["threshold"] if "threshold" in arrays else np.zeros(len(cells))
        if not len(cells):
            return []
    return [
        Alignment(source.tolist(), target.tolist(), cells.reshape(len(target), len(source)), threshold=own)
        for source, target, cells, own in zip(*sides, weights, thresholds.tolist(), strict=True)
    ]


def _read_json(path: Path) -> list[Alignment]:
    content = json.loads(path.read_text(encoding="utf-8"))
    return [Alignment.from_dict(values) for values in (content if isinstance(content, list) else [content])]


def _text_lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
