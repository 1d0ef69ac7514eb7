"""Normalised text and 64-bit keys of it, by which every engine finds equal rows."""

import re
import unicodedata
from hashlib import blake2b

import numpy as np

ORDER_BITS = 62  # of a place in the random order; keys have 63, as engines lack unsigned numbers
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff]")
_DIGITS = re.compile(r"\d+")
_ACCENTS = re.compile("[\u0300-\u036f]")
_MARKS = "\u0370"
_NOT_WORD = re.compile(r"[\W_]+")


def normalised(text: str) -> str:
    """The text as it is written to the shards.

    Unicode's composed form (NFC); control characters are spaces, soft hyphens and other invisible characters
    are left out, and white space is one space.
    """
    if not text.isascii():
        text = _INVISIBLE.sub("", unicodedata.normalize("NFC", text))
    if not text.isprintable():
        text = _CONTROL.sub(" ", text)
    return " ".join(text.split())


def form(text: str) -> str:
    """What near-duplicates share: lower case, no punctuation and no accents, and 0 for every number."""
    text = text.casefold()
    if not text.isascii():
        text = _ACCENTS.sub("", unicodedata.normalize("NFD", text))
        if max(text) >= _MARKS:  # scripts whose vowels are marks
            text = "".join(c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in text)
            return " ".join(_DIGITS.sub("0", text).split())
    return _NOT_WORD.sub(" ", _DIGITS.sub("0", text)).strip()


def text_key(text: str) -> int:
    """A 63-bit hash that is the same on every machine."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def pair_key(source: str, target: str) -> int:
    """The key of a pair; no text of one side can be taken for a part of the other."""
    return text_key(f"{source}\n{target}")


def order_keys(rows: np.ndarray, seed: int) -> np.ndarray:
    """A place in a random order for each numbered row: the finaliser of SplitMix64 (Steele et al. 2014).

    It depends on the row and the seed alone, so every engine shuffles alike, whatever the parts it works on.
    """
    with np.errstate(over="ignore"):
        mixed = rows.astype(np.uint64) + np.uint64((0x9E3779B97F4A7C15 * (2 * seed + 1)) % 2**64)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    return (mixed >> np.uint64(64 - ORDER_BITS)).astype(np.int64)
