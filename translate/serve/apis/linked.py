"""Words of both sides with their offsets, and the links between them, for JSON."""

from collections.abc import Sequence
from typing import Any

from translate.alignment.alignment import Alignment
from translate.alignment.transfer import word_spans
from translate.text.markup import MARKUP

DIGITS = 4  # of weights and probabilities


def words(texts: Sequence[str], offsets: Sequence[tuple[int, int]], shift: int = 0) -> list[dict[str, Any]]:
    """Words with their place in the text, in characters."""
    return [
        {"text": text, "start": start + shift, "end": end + shift}
        for text, (start, end) in zip(texts, offsets, strict=True)
    ]


def links(alignment: Alignment, source_shift: int = 0, target_shift: int = 0) -> list[dict[str, Any]]:
    """Links in the order of the source words, with their weights."""
    return [
        {
            "source": source + source_shift,
            "target": target + target_shift,
            "weight": round(float(alignment.weights[target, source]), DIGITS),
        }
        for source, target in sorted(alignment.links())
    ]


def weights(alignment: Alignment) -> list[list[float]]:
    """Target words x source words."""
    return [[round(weight, DIGITS) for weight in row] for row in alignment.weights.tolist()]


def aligned(
    source: str,
    target: str,
    parts: Sequence[tuple[Alignment, int, int]],
    confidences: Sequence[Sequence[float]] | None,
) -> dict[str, Any]:
    """The fields of an alignment, put together from those of sentences.

    Args:
        source, target: the whole texts.
        parts: for each sentence its alignment, and where it begins in source and target.
        confidences: for each sentence the probability of each target word.
    """
    found: dict[str, Any] = {"source_words": [], "target_words": [], "links": []}
    for number, (alignment, source_start, target_start) in enumerate(parts):
        shifts = len(found["source_words"]), len(found["target_words"])
        found["links"] += links(alignment, *shifts)
        found["source_words"] += words(
            alignment.source_words, _spans(alignment, "source", source[source_start:]), source_start
        )
        own = words(alignment.target_words, _spans(alignment, "target", target[target_start:]), target_start)
        if confidences is not None:
            for word, confidence in zip(own, confidences[number], strict=True):
                word["confidence"] = round(confidence, DIGITS)
        found["target_words"] += own
    if len(parts) == 1:
        found["weights"] = weights(parts[0][0])
    found["method"] = parts[0][0].method if parts else ""
    return found


def _spans(alignment: Alignment, side: str, text: str) -> Sequence[tuple[int, int]]:
    """The offsets of the words of one side in ``text``, also where markup has moved them."""
    offsets: Sequence[tuple[int, int]] = getattr(alignment, f"{side}_offsets")
    found: list[str] = getattr(alignment, f"{side}_words")
    if len(offsets) == len(found) and all(
        text[start:end] == word for word, (start, end) in zip(found, offsets, strict=True)
    ):
        return offsets
    return word_spans(MARKUP.sub(lambda match: "\0" * len(match[0]), text), found)
