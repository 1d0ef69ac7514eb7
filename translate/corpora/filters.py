"""Filters training pairs, counts the dropped ones by reason, and holds pairs out for other splits."""

import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow
from pyarrow import compute

from translate.config.data import DataConfig
from translate.corpora.caches import digests
from translate.corpora.columns import TEMPORARY, Column, Spill, spilled
from translate.corpora.document_rows import draw_documents, numbers_of, shared_documents
from translate.corpora.split import Split, SplitReader, schema_of
from translate.text.file_writing import explain_write_errors
from translate.text.words import UNSPACED, UNSPACED_WORD

REASONS = {
    "empty": "with an empty side",
    "too_long": "with more words than data.max_length",
    "length_ratio": "over data.max_length_ratio",
    "identical": "with source equal to target",
    "duplicate": "repeated",
    "control_characters": "with gold links broken by control characters",
    "overlap": "that are also in validation or test",
    "held_out": "with a source that is held out",
    "image": "whose image cannot be read",
    "beyond_limit": "beyond data.max_train_pairs",
}

AT_ONCE = 1 << 21  # hashes that are compared at a time
HASHES = pyarrow.schema([("hash", pyarrow.uint64())])

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_MISREAD = re.compile("[\x80-\x84\x86-\x9f]")  # in Latin-1, where Windows has letters and quotation marks
_UNSPACED, _UNSPACED_CHARACTER = re.compile(UNSPACED_WORD), re.compile(f"[{UNSPACED}]")


def count_words(sentence: str, *, by_character: bool = False) -> int:
    """The number of words between white space; in scripts without spaces, of as many characters as usual.

    Args:
        by_character: count every character of such a script, as word links do.
    """
    if sentence.isascii():
        return len(sentence.split())
    spaced, unspaced = (_UNSPACED_CHARACTER if by_character else _UNSPACED).subn(" ", sentence)
    return len(spaced.split()) + unspaced


@dataclass
class Filtered:
    """Pairs that are left, and what happened to the others.

    Attributes:
        dropped: numbers of pairs by reason.
        num_read: pairs that were read.
        num_cleaned: lines in which control characters became spaces.
        num_misread: those of them with characters that only a wrong encoding makes.
    """

    split: Split
    dropped: dict[str, int] = field(default_factory=dict)
    num_read: int = 0
    num_cleaned: int = 0
    num_misread: int = 0


def filter_pairs(reader: SplitReader, data: DataConfig) -> Filtered:
    """Filter pairs in their order; control characters and Unicode line separators become spaces.

    Args:
        reader: of the pairs.
        data: which filters are on.
    Raises:
        UserError: for gold links that do not fit, or a full disk.
    """
    columns = (*reader.columns, "numbers")
    found = Filtered(Split([], []))
    dropped: Counter[str] = Counter()
    distinct = set[int]()
    with explain_write_errors(TEMPORARY), Spill(schema_of(columns)) as spill, Spill(HASHES) as hashes:
        for block in reader.blocks():
            kept: list[int] = []
            source, target = (_clean(side, found) for side in block[:2])
            for index, pair in enumerate(zip(source, target)):
                reason = _reason(*pair, data)
                if reason is None and "gold" in columns and _words_moved(block, index, *pair):
                    reason = "control_characters"
                if reason is None:
                    kept.append(index)
                else:
                    dropped[reason] += 1
            numbers = range(found.num_read, found.num_read + len(source))
            new = [[side[index] for index in kept] for side in (source, target, *block[2:], numbers)]
            spill.add(new)
            found.num_read += len(source)
            num_kept = found.num_read - dropped.total()
            if data.drop_duplicates:
                hashes.add([own := hashes_of(zip(*new[:2])).tolist()])
                if data.streaming:
                    distinct.update(own)
                    num_kept = len(distinct)
            enough = (data.max_train_pairs or 0) + data.validation_pairs + data.test_pairs
            if data.streaming and num_kept >= enough:
                break
        stored = spill.finish()
        if data.drop_duplicates and (mask := repeated(hashes.finish().column("hash"))).any():
            dropped["duplicate"] = int(mask.sum())
            stored = stored.filtered(~mask)
    found.dropped = dict(dropped)
    found.split = Split.of(stored)
    return found


def hashes_of(pairs: Iterable[tuple[str, str]]) -> np.ndarray:
    """64 bits of each pair (uint64); two of 20 million different pairs share them once in 100,000 corpora."""
    return digests(f"{len(source)} {source}{target}" for source, target in pairs)


def repeated(hashes: Column[int]) -> np.ndarray:
    """For each row, whether an earlier one is equal (bool), in little memory whatever the number of rows."""
    parts = max(1, -(-len(hashes) // AT_ONCE))
    found = np.zeros(len(hashes), bool)
    for part in range(parts):
        rows, values, begin = [np.empty(0, np.int64)], [np.empty(0, np.uint64)], 0
        for array in hashes.values.chunks:
            own = array.to_numpy()
            chosen = np.flatnonzero(own % np.uint64(parts) == part)
            rows.append(chosen + begin)
            values.append(own[chosen])
            begin += len(own)
        hashes.release()
        order = np.argsort(value := np.concatenate(values), kind="stable")
        value, row = value[order], np.concatenate(rows)[order]
        found[row[1:][value[1:] == value[:-1]]] = True
    return found


def repeated_texts(texts: Column[str]) -> np.ndarray:
    """For each text, whether an earlier one is equal but for white space around it; bool.

    Raises:
        UserError: if the folder of temporary files is full.
    """
    hashes = ([digests(map(str.strip, block)).tolist()] for block in texts.blocks())
    return repeated(spilled(HASHES, hashes).column("hash"))


def hold_out(split: Split, wanted: Mapping[str, int], seed: int) -> tuple[Split, dict[str, Split]]:
    """Draw pairs of ``split`` at random for other splits; the same seed gives the same pairs.

    A split takes at most a tenth (but at least one pair), so that a small corpus keeps its training data.
    If documents are known, they are drawn whole.

    Args:
        wanted: name of a split -> number of pairs.
    Returns:
        The pairs that are left, and the new splits that are not empty.
    """
    tenth = max(1, len(split) // 10)
    sizes = {name: min(count, tenth) for name, count in wanted.items() if count}
    total = sum(sizes.values())
    if total == 0 or total >= len(split):
        return split, {}
    rows: dict[str, list[int]] = {}
    if split.documents is not None:
        drawn_documents = draw_documents(numbers_of(split.documents), sizes, seed)
        rows = {name: found.tolist() for name, found in drawn_documents.items()}
    else:
        drawn = random.Random(seed).sample(range(len(split)), total)
        for name, size in sizes.items():
            rows[name], drawn = sorted(drawn[:size]), drawn[size:]
    left = split.without(sorted(row for found in rows.values() for row in found))
    return left, {name: split.take(found) for name, found in rows.items()}


def with_sources_of(train: Split, others: Iterable[Split]) -> list[int]:
    """The rows of ``train`` whose sources are also in one of the others, sorted."""
    sources = pyarrow.array(sorted({source for other in others for source in other.source}), pyarrow.string())
    column, is_in = Column.of(train.source), list[np.ndarray]()
    for array in column.values.chunks:
        is_in.append(compute.is_in(array, value_set=sources).to_numpy(zero_copy_only=False))
        column.release()
    return np.flatnonzero(np.concatenate(is_in or [np.empty(0)])).tolist()


def overlap_of(train: Split, others: dict[str, Split], *, drop: bool) -> tuple[list[int], list[str]]:
    """The rows of ``train`` whose pairs are in other splits, too, and what to tell if these stay."""
    pairs = {pair for other in others.values() for pair in zip(other.source, other.target)}
    alike = {row: (train.source[row], train.target[row]) for row in with_sources_of(train, others.values())}
    rows = [row for row, pair in alike.items() if pair in pairs]
    found = set() if drop else {alike[row] for row in rows}
    counts = {name: sum(pair in found for pair in zip(s.source, s.target)) for name, s in others.items()}
    told = [f"{name} pairs that are also in train: {count:,}" for name, count in counts.items() if count]
    told += [
        f"warning: no {name} pair is new, so the scores of these pairs are too good: all are in train"
        for name, count in counts.items()
        if count == len(others[name]) > 0
    ]
    return rows, [*told, *shared_documents(train, others)]


def _clean(lines: Sequence[str], found: Filtered) -> list[str]:
    result = []
    for line in lines:
        if not line.isprintable() and _CONTROL.search(line):
            found.num_misread += _MISREAD.search(line) is not None
            line = _CONTROL.sub(" ", line)
            found.num_cleaned += 1
        result.append(line)
    return result


def _reason(source: str, target: str, data: DataConfig) -> str | None:
    if not source.strip() or not target.strip():
        return "empty"
    source_words, target_words = count_words(source), count_words(target)
    longer, shorter = max(source_words, target_words), min(source_words, target_words)
    if data.max_length is not None and longer > data.max_length:
        return "too_long"
    if data.max_length_ratio is not None and longer > data.max_length_ratio * max(shorter, 1):
        return "length_ratio"
    if data.drop_identical and source.strip() == target.strip():
        return "identical"
    return None


def _words_moved(block: Sequence[Sequence[str]], index: int, source: str, target: str) -> bool:
    before = len(block[0][index].split()), len(block[1][index].split())
    return before != (len(source.split()), len(target.split()))
