"""SentencePiece models for browsers: pieces as JSON, and the rules of the normaliser as they are."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from translate.errors import UserError
from translate.export.contents import require
from translate.text.tokenizer import Tokenizer

KINDS = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}
USER_DEFINED = 4  # a piece's kind


def write_tokenizer(tokenizer: Tokenizer, directory: Path, name: str) -> None:
    """Write ``NAME.json`` and ``NAME.rules``.

    Args:
        tokenizer: a SentencePiece model.
        directory: that is there.
        name: of the files.

    Raises:
        UserError: if the model has what the page's tokenizer does not know.
    """
    model = _read(tokenizer)
    described = describe(model, tokenised=tokenizer.tokenised)
    text = json.dumps(described, ensure_ascii=False, separators=(",", ":"))
    (directory / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    (directory / f"{name}.rules").write_bytes(model.normalizer_spec.precompiled_charsmap)


def _read(tokenizer: Tokenizer) -> Any:
    messages = require("sentencepiece.sentencepiece_model_pb2", "page")  # its protobuf comes with onnx
    return messages.ModelProto.FromString(tokenizer.model)


def describe(model: Any, *, tokenised: bool) -> dict[str, Any]:
    """The values of ``NAME.json``.

    Args:
        model: the message ``ModelProto`` of SentencePiece.
        tokenised: as :class:`Tokenizer`.

    Raises:
        UserError: as :func:`write_tokenizer`.
    """
    trained, normalizer = model.trainer_spec, model.normalizer_spec
    unknown = {
        "user-defined pieces": any(piece.type == USER_DEFINED for piece in model.pieces),
        "white space at the end of words": trained.treat_whitespace_as_suffix,
        "white space as it is": not normalizer.escape_whitespaces,
        "rules for the output": bool(model.denormalizer_spec.precompiled_charsmap),
    }
    for what, is_there in unknown.items():
        if is_there:
            raise UserError(f"--format page cannot represent a tokenizer with {what}; use --format onnx")
    return {
        "kind": KINDS[trained.model_type],
        "tokenised": tokenised,
        "byte_fallback": trained.byte_fallback,
        "unknown": trained.unk_surface,
        "dummy_prefix": normalizer.add_dummy_prefix,
        "remove_extra_whitespaces": normalizer.remove_extra_whitespaces,
        "pieces": [piece.piece for piece in model.pieces],
        "scores": [float(str(np.float32(piece.score))) for piece in model.pieces],  # the fewest digits
        "kinds": [piece.type for piece in model.pieces],
    }
