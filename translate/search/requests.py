"""From prefixes and constraints as text to requests in pieces."""

from collections.abc import Sequence
from typing import Any

from translate.errors import UserError
from translate.search.hypothesis import Request
from translate.text.tokenizer import UNK, Tokenizer


def read_requests(
    tokenizer: Tokenizer,
    count: int,
    prefix: str | Sequence[str] | None,
    constraints: Sequence[str] | Sequence[Sequence[str]] | None,
    max_pieces: int | None,
) -> list[Request]:
    """One request for each sentence.

    Args:
        tokenizer: of the target.
        count: number of sentences.
        prefix: the beginning of every translation, or one for each sentence.
        constraints: phrases that every translation must contain, or a list of phrases for each sentence.
        max_pieces: most pieces of a translation that the model allows, with the end of sentence, or ``None``.

    Raises:
        UserError: for a text with pieces outside the vocabulary, or lists of a wrong length.
    """
    prefixes = [prefix or ""] * count if prefix is None or isinstance(prefix, str) else list(prefix)
    if prefix == "":
        raise UserError("prefix: there is no word in it; leave it out")
    given = list(constraints or ())
    if isinstance(constraints, str):
        raise UserError("constraints: expected a list of phrases, got one string; write [phrase]")
    alike = all(isinstance(each, str) for each in given)
    phrases: list[Any] = [given] * count if alike else [list(each) for each in given]
    for name, each in (("prefix", prefixes), ("constraints", phrases)):
        if len(each) != count:
            raise UserError(f"{name}: expected one a sentence, that is {count}, got {len(each)}")
    known: dict[tuple[str, str], list[int]] = {}

    def pieces(kind: str, text: str) -> list[int]:
        if (kind, text) not in known:
            known[kind, text] = _pieces(tokenizer, kind, text)
        return known[kind, text]

    found = [
        Request(pieces("prefix", begin) if begin else (), [pieces("constraint", text) for text in texts])
        for begin, texts in zip(prefixes, phrases, strict=True)
    ]
    longest = max((request.length + 1 for request in found), default=0)
    if max_pieces is not None and longest > max_pieces:
        raise UserError(f"prefix and constraints: {longest} pieces, but the model says {max_pieces} at most")
    return found


def _pieces(tokenizer: Tokenizer, kind: str, text: str) -> list[int]:
    ids = tokenizer.encode(text)
    if not ids:
        raise UserError(f"{kind} {text!r}: there is no word in it")
    if UNK in ids:
        unknown = next((each for each in text if UNK in tokenizer.encode(each)), text)
        raise UserError(f"{kind} {text!r}: {unknown!r} is not in the run's target vocabulary")
    return ids
