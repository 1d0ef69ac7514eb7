"""Normalised text, and the keys by which equal and similar pairs are found, the same on every machine."""

from collections.abc import Iterable
from hashlib import blake2b
from zlib import crc32

import numpy as np
import pyarrow
import pyarrow.compute

ORDER_BITS = 62  # of a position in the random order; keys have 63, as SQL engines lack unsigned numbers
BANDS, BAND = 8, 3
PERMUTATIONS = BANDS * BAND
MIN_WORDS = 6  # of both sides together; shorter pairs have no signature
TOGETHER = 2000  # pairs whose signatures are computed together, in the processor's cache
_INVISIBLE = "[\u00ad\u200b\u2060\ufeff]+"
_SPACES = r"[\pZ\x{00}-\x{1f}\x{7f}-\x{9f}]+"
_RANDOM = np.random.default_rng(0x5EED)
_FACTORS = _RANDOM.integers(0, 2**63, PERMUTATIONS, np.uint64) * np.uint64(2) + np.uint64(1)
_ADDENDS = _RANDOM.integers(0, 2**63, PERMUTATIONS, np.uint64)


def replaced(texts: pyarrow.Array, pattern: str, text: str) -> pyarrow.Array:
    """The texts with ``text`` instead of every match of a regular expression of RE2."""
    return pyarrow.compute.replace_substring_regex(texts, pattern=pattern, replacement=text)


def normalised(texts: pyarrow.Array) -> pyarrow.Array:
    """The texts as the shards hold them.

    Unicode's composed form (NFC); control characters become spaces, soft hyphens and other invisible
    characters are left out, and white space is one space.
    """
    texts = pyarrow.compute.utf8_normalize(texts.fill_null(""), form="NFC")
    return pyarrow.compute.utf8_trim(replaced(replaced(texts, _INVISIBLE, ""), _SPACES, " "), " ")


def forms(texts: pyarrow.Array) -> pyarrow.Array:
    """The form that near-duplicates share: lower case, no punctuation, no accents, 0 for every number."""
    texts = pyarrow.compute.utf8_normalize(pyarrow.compute.utf8_lower(texts), form="NFD")
    for pattern, text in (("[\u0300-\u036f]+", ""), (r"\p{Nd}+", "0"), (r"[^\pL\pN\pM]+", " ")):
        texts = replaced(texts, pattern, text)
    return pyarrow.compute.utf8_trim(texts, " ")


def text_key(text: str) -> int:
    """A 63-bit hash that is the same on every machine."""
    return int(text_keys([text])[0])


def text_keys(texts: Iterable[str]) -> np.ndarray:
    """The hash of each text, as int64."""
    digests = [blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts]
    return (np.frombuffer(b"".join(digests), "<u8") >> np.uint64(1)).astype(np.int64)


def order_keys(rows: np.ndarray, seed: int) -> np.ndarray:
    """Positions of numbered rows in a random order: the finaliser of SplitMix64 (Steele et al. 2014).

    It depends on the row and the seed alone, so every executor shuffles alike.
    """
    with np.errstate(over="ignore"):
        mixed = rows.astype(np.uint64) + np.uint64((0x9E3779B97F4A7C15 * (2 * seed + 1)) % 2**64)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    return (mixed >> np.uint64(64 - ORDER_BITS)).astype(np.int64)


def signatures(sources: pyarrow.Array, targets: pyarrow.Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """MinHash signatures, by which the words that two pairs share are estimated.

    Broder 1997: for a random order of all words, the probability that two sets have the same first word is
    their Jaccard similarity |A and B| / |A or B|. A signature holds the first word of each of
    ``PERMUTATIONS`` orders. Rows of ``BAND`` values that agree make two pairs candidates (Leskovec et al.,
    Mining of Massive Datasets, 3.4); the last byte of every value decides (b-bit MinHash, Li and König 2010).
    The set of a pair consists of its single words and its words with their successors, of both sides.

    Args:
        sources, targets: N :func:`forms`.
    Returns:
        Keys of the bands, int64 (N, BANDS); last bytes, int8 (N, PERMUTATIONS); and which pairs have enough
        words, bool (N,).
    """
    parts = [
        _signatures(sources.slice(start, TOGETHER), targets.slice(start, TOGETHER))
        for start in range(0, len(sources), TOGETHER)
    ]
    bands, values, enough = (np.concatenate(part) for part in zip(*parts))
    return bands, values, enough


def _signatures(*sides: pyarrow.Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    count = len(sides[0])
    elements, owners, words = [], [], np.zeros(count, np.int64)
    for side, texts in enumerate(sides):
        split = pyarrow.compute.split_pattern(texts, " ")
        lengths = pyarrow.compute.list_value_length(split).to_numpy()
        found = split.flatten().dictionary_encode()
        hashed = np.array([crc32(word.encode()) for word in found.dictionary.to_pylist()], np.uint64)
        hashed = hashed[found.indices.to_numpy()]
        owner = np.repeat(np.arange(count), lengths)
        follows = np.flatnonzero(owner[1:] == owner[:-1])
        twos = (hashed[follows] << np.uint64(31)) ^ hashed[follows + 1] ^ np.uint64(side)
        elements += [hashed + np.uint64(side << 33), twos]
        owners += [owner, owner[follows]]
        words += lengths
    owner = np.concatenate(owners)
    order = np.argsort(owner, kind="stable")
    together, begins = np.concatenate(elements)[order], np.searchsorted(owner[order], np.arange(count))
    values = np.empty((count, PERMUTATIONS), np.uint64)
    with np.errstate(over="ignore"):
        for number, (factor, addend) in enumerate(zip(_FACTORS, _ADDENDS)):
            values[:, number] = np.minimum.reduceat(_mixed(together * factor + addend), begins)
        bands = np.zeros((count, BANDS), np.uint64)
        for number in range(BAND):
            bands = _mixed(bands + values[:, number::BAND])
    return (bands >> np.uint64(1)).astype(np.int64), values.astype(np.int8), words >= MIN_WORDS


def _mixed(values: np.ndarray) -> np.ndarray:
    values = (values ^ (values >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return values ^ (values >> np.uint64(32))
