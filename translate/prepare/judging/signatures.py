"""MinHash signatures of pairs, which tell how many of their words two pairs share.

Broder 1997: for a random order of all words, the probability that two sets have the same first word is their
Jaccard similarity |A and B| / |A or B|. A signature holds the first word of each of ``PERMUTATIONS`` orders.
Rows of ``BAND`` values that agree make two pairs candidates (Leskovec et al., Mining of Massive Datasets,
3.4); the last byte of every value decides (b-bit MinHash, Li and König 2010).
"""

from collections.abc import Sequence
from zlib import crc32

import numpy as np

BANDS, BAND = 8, 3
PERMUTATIONS = BANDS * BAND
MIN_WORDS = 6  # of both sides together; shorter pairs that differ are different
_FIXED = np.random.default_rng(0x5EED)
_FACTORS = _FIXED.integers(0, 2**63, PERMUTATIONS, np.uint64) * np.uint64(2) + np.uint64(1)
_ADDENDS = _FIXED.integers(0, 2**63, PERMUTATIONS, np.uint64)


class _Hashes(dict[str, int]):
    def __missing__(self, word: str) -> int:
        found = self[word] = crc32(word.encode())
        return found


def signatures(forms: Sequence[tuple[str, str]]) -> tuple[np.ndarray, list[bytes | None]]:
    """Band keys (N, BANDS) and signatures of ``PERMUTATIONS`` bytes; pairs that are too short have none.

    The elements of a pair's set are its single words and its words with their successors, of both sides.
    """
    hashes = _Hashes()
    elements: list[np.ndarray] = []
    kept: list[int] = []
    for index, sides in enumerate(forms):
        words = [[hashes[word] for word in side.split()] for side in sides]
        if sum(map(len, words)) >= MIN_WORDS:
            kept.append(index)
            elements.append(_elements(*words))
    bands, found = np.zeros((len(forms), BANDS), np.int64), [None] * len(forms)
    if not kept:
        return bands, list(found)
    starts = np.cumsum([0, *map(len, elements)])[:-1]
    flat = np.concatenate(elements)
    values = np.empty((len(kept), PERMUTATIONS), np.uint64)
    with np.errstate(over="ignore"):
        for number, (factor, addend) in enumerate(zip(_FACTORS, _ADDENDS)):
            values[:, number] = np.minimum.reduceat(_mixed(flat * factor + addend), starts)
        joined = np.zeros((len(kept), BANDS), np.uint64)
        for number in range(BAND):
            joined = _mixed(joined + values[:, number::BAND])
    bands[kept] = (joined >> np.uint64(1)).astype(np.int64)
    small = values.astype(np.uint8)
    result: list[bytes | None] = list(found)
    for index, row in zip(kept, small):
        result[index] = row.tobytes()
    return bands, result


def similarity(first: Sequence[bytes], second: Sequence[bytes]) -> np.ndarray:
    """The estimated Jaccard similarity of signatures, pair by pair."""
    sides = [np.frombuffer(b"".join(side), np.uint8).reshape(-1, PERMUTATIONS) for side in (first, second)]
    return np.asarray((sides[0] == sides[1]).mean(1))


def _elements(source: list[int], target: list[int]) -> np.ndarray:
    parts = []
    for side, words in enumerate((source, target)):
        single = np.array(words, np.uint64)
        parts += [
            single + np.uint64(side << 33),
            (single[:-1] << np.uint64(31)) ^ single[1:] ^ np.uint64(side),
        ]
    return np.concatenate(parts)


def _mixed(values: np.ndarray) -> np.ndarray:
    values = (values ^ (values >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return values ^ (values >> np.uint64(32))
