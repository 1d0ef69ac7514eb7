"""MinHash signatures of pairs, which tell how many of their words two pairs share.

Broder 1997: for a random order of all words, the probability that two sets have the same first word is their
Jaccard similarity |A and B| / |A or B|. A signature holds the first word of each of ``PERMUTATIONS`` orders.
Rows of ``BAND`` values that agree make two pairs candidates (Leskovec et al., Mining of Massive Datasets,
3.4); the last byte of every value decides (b-bit MinHash, Li and König 2010).
"""

from collections.abc import Sequence
from itertools import chain
from zlib import crc32

import numpy as np

from translate.prepare.judging.characters import parts_of

BANDS, BAND = 8, 3
PERMUTATIONS = BANDS * BAND
MIN_WORDS = 6  # of both sides together; shorter pairs that differ are different
_FIXED = np.random.default_rng(0x5EED)
_FACTORS = _FIXED.integers(0, 2**63, PERMUTATIONS, np.uint64) * np.uint64(2) + np.uint64(1)
_ADDENDS = _FIXED.integers(0, 2**63, PERMUTATIONS, np.uint64)


TOGETHER = 1 << 14  # elements that are permuted together, which stay in the processor's cache


class _Hashes(dict[str, int]):
    def __missing__(self, word: str) -> int:
        found = self[word] = crc32(word.encode())
        return found


def signatures(forms: Sequence[tuple[str, str]]) -> tuple[np.ndarray, list[bytes | None]]:
    """Band keys (N, BANDS) and signatures of ``PERMUTATIONS`` bytes; pairs that are too short have none.

    The elements of a pair's set are its single words and its words with their successors, of both sides.
    """
    words = [side.split() for pair in forms for side in pair]
    lengths = np.fromiter(map(len, words), np.int64, len(words))
    bands, found = np.zeros((len(forms), BANDS), np.int64), [None] * len(forms)
    kept = np.flatnonzero(lengths.reshape(-1, 2).sum(1) >= MIN_WORDS)
    if not len(kept):
        return bands, list(found)
    hashes = map(_Hashes().__getitem__, chain.from_iterable(words))
    elements, begins = _elements(np.fromiter(hashes, np.uint64, int(lengths.sum())), lengths, kept)
    values = np.empty((len(kept), PERMUTATIONS), np.uint64)
    with np.errstate(over="ignore"):
        for part in parts_of(begins, TOGETHER):
            mine, starts = elements[begins[part.start] : begins[part.stop]], begins[part] - begins[part.start]
            for number, (factor, addend) in enumerate(zip(_FACTORS, _ADDENDS)):
                values[part, number] = np.minimum.reduceat(_mixed(mine * factor + addend), starts)
        joined = np.zeros((len(kept), BANDS), np.uint64)
        for number in range(BAND):
            joined = _mixed(joined + values[:, number::BAND])
    bands[kept] = (joined >> np.uint64(1)).astype(np.int64)
    small = values.astype(np.uint8).tobytes()
    result: list[bytes | None] = list(found)
    for place, index in enumerate(kept.tolist()):
        result[index] = small[place * PERMUTATIONS : (place + 1) * PERMUTATIONS]
    return bands, result


def similarity(first: Sequence[bytes], second: Sequence[bytes]) -> np.ndarray:
    """The estimated Jaccard similarity of signatures, pair by pair."""
    sides = [np.frombuffer(b"".join(side), np.uint8).reshape(-1, PERMUTATIONS) for side in (first, second)]
    return np.asarray((sides[0] == sides[1]).mean(1))


def _elements(words: np.ndarray, lengths: np.ndarray, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The elements of the kept pairs, pair after pair, where each pair begins,
    and where the last one ends.

    Args:
        words: uint64, the hashes of the words of all sides, in turn of source and target.
        lengths: the number of words of each side.
        kept: the numbers of the pairs that have words on both sides together.
    """
    sides = np.repeat(np.arange(len(lengths)), lengths)
    side = (sides & 1).astype(np.uint64)
    follows = np.flatnonzero(sides[1:] == sides[:-1])
    twos = (words[follows] << np.uint64(31)) ^ words[follows + 1] ^ side[follows]
    owners = np.concatenate([sides, sides[follows]]) >> 1
    elements = np.concatenate([words + (side << np.uint64(33)), twos])
    order = np.argsort(owners, kind="stable")
    is_kept = np.zeros(len(lengths) // 2, bool)
    is_kept[kept] = True
    order = order[is_kept[owners[order]]]
    return elements[order], np.append(np.searchsorted(owners[order], kept), len(order))


def _mixed(values: np.ndarray) -> np.ndarray:
    values = (values ^ (values >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return values ^ (values >> np.uint64(32))
