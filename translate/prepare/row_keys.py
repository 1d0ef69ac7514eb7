"""Normalised text, and the keys by which equal and similar pairs are found, the same on every machine."""

from collections.abc import Iterable

import numpy as np
import pyarrow
import pyarrow.compute

from translate.corpora.caches import digests

ORDER_BITS = 62  # of a position in the random order; keys have 63, as SQL engines lack unsigned numbers
_INVISIBLE = "[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]+"
_SPACES = r"[\pZ\x{00}-\x{1f}\x{7f}-\x{9f}]+"


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


def text_keys(texts: Iterable[str]) -> np.ndarray:
    """A hash of each text in 63 bits of an int64, the same on every machine."""
    return (digests(texts) >> np.uint64(1)).astype(np.int64)


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
