"""The rows that ``translate text`` prints: plain text, or JSON."""

import json
import math
from typing import TYPE_CHECKING, Any

from translate.cli.document_options import LineInDocument

if TYPE_CHECKING:
    from translate.translation import ScoredText, Translation

LINE_BREAKS = {character: f"\\u{ord(character):04x}" for character in "\x85\u2028\u2029"}


def paragraph_row(
    format: str, engine: str, line: LineInDocument, found: "list[tuple[str, Translation]] | None"
) -> str:
    """The row of a paragraph; an empty one if it could not be translated."""
    found = found or []
    joined = " ".join(result.text for _, result in found)
    if format == "text":
        return joined
    parts = [{"source": source, **_scored(result), **_writer(result, engine)} for source, result in found]
    return _dump({"source": line.text, "text": joined, "sentences": parts})


def sentence_row(
    format: str, align: bool, engine: str, line: LineInDocument, result: "Translation | None"
) -> str:
    """The row of a sentence; an empty one if it could not be translated."""
    if result is None:
        import numpy as np

        from translate.alignment.alignment import Alignment
        from translate.translation import Translation

        result = Translation("", 0.0, Alignment([], [], np.zeros((0, 0))))
    return _json(line.text, result, engine) if format == "jsonl" else _plain(result, align=align)


def _plain(result: "Translation", *, align: bool) -> str:
    parts = [candidate.text for candidate in result.n_best] or [result.text]
    if align and result.alignment is not None:
        parts.append(result.alignment.pharaoh())
    return "\t".join(parts)


def _json(source: str, result: "Translation", engine: str) -> str:
    row: dict[str, Any] = {"source": source, **_scored(result), **_writer(result, engine)}
    if result.n_best:
        row["n_best"] = [_scored(candidate) for candidate in result.n_best]
    alignment = result.alignment
    assert alignment is not None
    row["alignment"] = {
        "source_words": alignment.source_words,
        "target_words": alignment.target_words,
        "links": alignment.pharaoh(),
        "weights": [[round(weight, 4) for weight in weights] for weights in alignment.weights.tolist()],
    }
    return _dump(row)


def _writer(result: "Translation", engine: str) -> dict[str, str]:
    """The engine that wrote a translation, if the user did not ask for torch."""
    return {} if engine == "torch" else {"engine": result.engine}


def _scored(result: "Translation | ScoredText") -> dict[str, Any]:
    # JSON has neither infinity nor NaN.
    score = result.score if math.isfinite(result.score) else None
    return {"text": result.text, "score": score, "tokens": list(result.tokens)}


def _dump(row: dict[str, Any]) -> str:
    text = json.dumps(row, ensure_ascii=False, allow_nan=False)
    for character, escape in LINE_BREAKS.items():
        text = text.replace(character, escape)  # str.translate takes a second for a line of long weights
    return text
