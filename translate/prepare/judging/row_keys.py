"""Normalised text and 64-bit keys of it, by which every engine finds equal rows."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from hashlib import blake2b

import numpy as np

from translate.prepare.judging.characters import Characters, usual_forms

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
        if max(text, default="") >= _MARKS:  # scripts whose vowels are marks
            text = "".join(c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in text)
            return " ".join(_DIGITS.sub("0", text).split())
    return _NOT_WORD.sub(" ", _DIGITS.sub("0", text)).strip()


def all_normalised(texts: Sequence[str]) -> list[str]:
    """Each text as :func:`normalised` gives it; only those that may change are looked at one by one."""
    usual = Characters(texts).is_usual().tolist()
    return [text if is_usual else normalised(text) for text, is_usual in zip(texts, usual)]


def all_forms(texts: Sequence[str]) -> list[str]:
    """The :func:`form` of each normalised text."""
    found, is_slow = usual_forms(texts)
    for index in np.flatnonzero(is_slow).tolist():
        found[index] = form(texts[index])
    return found


def text_key(text: str) -> int:
    """A 63-bit hash that is the same on every machine."""
    return int(text_keys([text])[0])


def text_keys(texts: Iterable[str]) -> np.ndarray:
    """The hash of each text, as int64."""
    digests = [blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts]
    return (np.frombuffer(b"".join(digests), "<u8") >> np.uint64(1)).astype(np.int64)


def pair_keys(sources: Sequence[str], targets: Sequence[str]) -> np.ndarray:
    """The key of each pair; no text of one side can be taken for a part of the other."""
    return text_keys(f"{source}\n{target}" for source, target in zip(sources, targets))


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
