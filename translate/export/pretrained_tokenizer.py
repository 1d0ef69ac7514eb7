"""The tokenizer of a pretrained model as SentencePiece models in the order of our ids.

Marian's tokenizer cuts a text with one SentencePiece model for each side, and looks its pieces up in
``vocab.json``. Written into the models themselves, the vocabulary needs no file between. Some rows of the
embeddings are then read by two ids: that of padding also by begin of sentence, from which Marian's decoder
starts, and that of the unknown piece also by pieces that a model cuts, but the vocabulary lacks.
"""

from pathlib import Path
from typing import Any, NamedTuple

from translate.config.data import NUM_SPECIAL, RESERVED, TAG
from translate.config.names import shorten
from translate.errors import UserError
from translate.export.huggingface import without_space
from translate.export.pretrained import Pretrained, vocabulary_file
from translate.text.bounded import explained, read_bounded
from translate.text.own_tokenizers import (
    CONTROL,
    NORMAL,
    UNKNOWN_PIECE,
    UNUSED,
    USER_DEFINED,
    put_special_first,
)
from translate.text.tokenizer import BOS, MAX_MODEL_BYTES, SPACE, UNK, Tokenizer, TokenizerPair, parse_model

UNIGRAM = 1  # a kind of model
MOST_MISSING = 0.1  # of a model's pieces
MOST_PIECES = 10_000_000  # as the setting tokenizer.vocabulary_size has it


class Vocabulary(NamedTuple):
    """A vocabulary in the order of our ids.

    Attributes:
        pieces: the first four are those of padding, unknown, begin and end of sentence.
        rows: of the pretrained embedding, one for each piece.
        num_rows: of that embedding.
        never: ids that the pretrained model does not have, and never writes.
    """

    pieces: list[str]
    rows: list[int]
    num_rows: int
    never: list[int]


class PretrainedTokenizers(NamedTuple):
    """The tokenizers of both sides, and their vocabularies."""

    pair: TokenizerPair
    source: Vocabulary
    target: Vocabulary


def read_tokenizers(pretrained: Pretrained) -> PretrainedTokenizers:
    """Read ``source.spm``, ``target.spm`` and the vocabularies.

    Raises:
        UserError: if one is missing or damaged, or if they do not fit each other or the configuration.
    """
    folder, config = pretrained.folder, pretrained.config
    models = [_read_model(folder / f"{side}.spm") for side in ("source", "target")]
    cut = [frozenset(_by_name(model)) for model in models]
    names, sizes = pretrained.vocabularies, [int(pretrained.number("vocab_size"))] * 2
    if names[0] != names[1]:
        sizes[1] = int(pretrained.number("decoder_vocab_size", sizes[0]))
    if names[0] == names[1] or pretrained.tie == "all":
        cut = [cut[0] | cut[1]] * 2
    source, target = (_vocabulary(pretrained, *side) for side in zip(names, sizes, cut, strict=True))
    if pretrained.tie == "all" and source != target:
        raise UserError(f"{folder}: one embedding for both sides, but two vocabularies; expected one")
    for model, vocabulary in zip(models, (source, target), strict=True):
        _rewrite(model, vocabulary, folder)
    contents = [bytes(model.SerializeToString()) for model in models]
    tokenised = config.get("tokenised") is True
    first = Tokenizer(contents[0], tokenised=tokenised)
    second = first if contents[0] == contents[1] else Tokenizer(contents[1], tokenised=tokenised)
    return PretrainedTokenizers(TokenizerPair(first, second), source, target)


def _read_model(path: Path) -> Any:
    """The message of a SentencePiece model."""
    wanted = "the SentencePiece model of a Marian, not BPE"
    content = read_bounded(path, limit=MAX_MODEL_BYTES, expected=wanted)
    with explained(f"{path}: no SentencePiece model", ValueError):
        model = parse_model(content)
    if not model.pieces:
        raise UserError(f"{path}: no SentencePiece model (it has no pieces)")
    return model


def _by_name(model: Any) -> dict[str, Any]:
    """The pieces that a text may be cut into, by the names that a vocabulary has for them."""
    pieces = (piece for piece in model.pieces if piece.type not in (UNKNOWN_PIECE, CONTROL))
    return {without_space(piece.piece): piece for piece in pieces}


def _vocabulary(pretrained: Pretrained, name: str, size: int, cut: frozenset[str]) -> Vocabulary:
    """The vocabulary of a file in the order of our ids; the pieces of ``cut`` that it lacks stand last."""
    path = pretrained.folder / name
    ids = vocabulary_file(path)
    by_row = {row: piece for piece, row in ids.items()}
    if len(by_row) < len(ids) or not max(by_row) < size <= MOST_PIECES:
        raise UserError(f"{path}: expected a number for each piece, below the configuration's {size:,}")
    config, unknown = pretrained.config, str(pretrained.config.get("unk_token", "<unk>"))
    special: dict[str, Any] = {
        "pad_token_id": config.get("pad_token_id"),
        "unk_token": ids.get(unknown),
        "decoder_start_token_id": config.get("decoder_start_token_id"),
        "eos_token_id": config.get("eos_token_id", ids.get("</s>")),
    }
    for key, row in special.items():
        if type(row) is not int or row not in by_row:
            raise UserError(f"{path}: has no piece for {key}={shorten(config.get(key, row))}")
    first = list(special.values())
    missing = sorted(cut - ids.keys())
    if len(missing) > MOST_MISSING * len(cut):
        raise UserError(
            f"{path}: lacks {len(missing):,} of the {len(cut):,} pieces of the SentencePiece models, such as "
            f"{shorten(missing[0])!r}; expected the vocabulary of these models"
        )
    others = [row for row in range(size) if row not in first]
    others.sort(key=lambda row: not TAG.fullmatch(by_row.get(row, "")))  # tags first
    names = [by_row.get(row) or f"<unused-{row}>" for row in others]
    pieces = [*RESERVED, *(f"<unused {name}>" if name in RESERVED else name for name in names), *missing]
    rows = [*first, *others, *[first[UNK]] * len(missing)]
    copied = [BOS] if first.count(first[BOS]) > 1 else []
    return Vocabulary(pieces, rows, size, [*copied, *range(len(pieces) - len(missing), len(pieces))])


def _rewrite(model: Any, vocabulary: Vocabulary, folder: Path) -> None:
    """Give a SentencePiece model the pieces and ids of ``vocabulary``; it cuts as before."""
    known = _by_name(model)
    lowest = min((piece.score for piece in known.values() if piece.type == NORMAL), default=0.0)
    new = type(model)()
    for name in vocabulary.pieces[NUM_SPECIAL:]:
        if name in known:
            new.pieces.append(known[name])
        elif TAG.fullmatch(name):
            new.pieces.add(piece=SPACE + name, score=0.0, type=USER_DEFINED)
        elif len(name) == 1:  # of the other side; Marian's tokenizer looks unknown characters up, too
            new.pieces.add(piece=name, score=lowest, type=NORMAL)
        elif model.trainer_spec.model_type == UNIGRAM:
            new.pieces.add(piece=name, score=0.0, type=UNUSED)
        else:
            raise UserError(
                f"{folder}: the SentencePiece models are not unigram and lack {shorten(name)!r}, with which "
                "they would cut otherwise; expected unigram models"
            )
    put_special_first(model, list(new.pieces))
