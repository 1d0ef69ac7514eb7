"""Filters training pairs, with the number dropped for each reason, and holds pairs out for other splits."""

import random
import re
from collections.abc import Mapping

from translate.config.data import DataConfig
from translate.corpora.split import Split
from translate.text.words import UNSPACED

REASONS = {
    "empty": "with an empty side",
    "too_long": "longer than data.max_length",
    "length_ratio": "over data.max_length_ratio",
    "identical": "with source equal to target",
    "duplicate": "repeated",
    "control_characters": "with gold links broken by control characters",
    "beyond_limit": "beyond data.max_train_pairs",
}

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_UNSPACED = re.compile(f"[{UNSPACED}]")


def count_words(sentence: str) -> int:
    """The number of words between white space; each character of a script without spaces is a word."""
    if sentence.isascii():
        return len(sentence.split())
    spaced, unspaced = _UNSPACED.subn(" ", sentence)
    return len(spaced.split()) + unspaced


def filter_pairs(split: Split, data: DataConfig) -> tuple[Split, dict[str, int], int]:
    """Filter pairs in their order; control characters and Unicode line separators become spaces.

    Returns:
        The pairs that are left, the number of dropped pairs by reason, and the number of cleaned lines.
    """
    source, cleaned_source = _clean(split.source)
    target, cleaned_target = _clean(split.target)
    kept: list[int] = []
    dropped: dict[str, int] = {}
    seen: set[tuple[str, str]] = set()
    for index, pair in enumerate(zip(source, target)):
        reason = _reason(*pair, data)
        if reason is None and split.gold is not None and _words_moved(split, index, *pair):
            reason = "control_characters"
        if reason is None and data.drop_duplicates and pair in seen:
            reason = "duplicate"
        if reason is None:
            kept.append(index)
            if data.drop_duplicates:
                seen.add(pair)
        else:
            dropped[reason] = dropped.get(reason, 0) + 1
    return (
        Split(source, target, split.gold, split.numbers).take(kept),
        dropped,
        cleaned_source + cleaned_target,
    )


def hold_out(split: Split, wanted: Mapping[str, int], seed: int) -> tuple[Split, dict[str, Split]]:
    """Draw pairs of ``split`` at random for other splits; the same seed gives the same pairs.

    Each split takes at most a tenth (but at least one pair), so that a small corpus keeps its training data.

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
    drawn = random.Random(seed).sample(range(len(split)), total)
    left = sorted(set(range(len(split))).difference(drawn))
    held = {}
    for name, size in sizes.items():
        held[name] = split.take(sorted(drawn[:size]))
        drawn = drawn[size:]
    return split.take(left), held


def count_overlap(train: Split, other: Split) -> int:
    """The number of pairs of ``other`` that are also in ``train``."""
    wanted = set(zip(other.source, other.target))
    found = wanted.intersection(zip(train.source, train.target))
    return sum(pair in found for pair in zip(other.source, other.target))


def _clean(lines: list[str]) -> tuple[list[str], int]:
    cleaned = 0
    result = []
    for line in lines:
        if not line.isprintable() and _CONTROL.search(line):
            line = _CONTROL.sub(" ", line)
            cleaned += 1
        result.append(line)
    return result, cleaned


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


def _words_moved(split: Split, index: int, source: str, target: str) -> bool:
    before = len(split.source[index].split()), len(split.target[index].split())
    return before != (len(source.split()), len(target.split()))
