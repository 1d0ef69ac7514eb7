"""SentencePiece models of the user's own, with the special pieces where ours have them."""

from collections.abc import Sequence
from typing import Any

from translate.config.data import NUM_SPECIAL, RESERVED, TokenizerConfig
from translate.config.names import shorten, shown_path
from translate.errors import UserError
from translate.text.bounded import explained, read_bounded
from translate.text.lines import user_path
from translate.text.tokenizer import MAX_MODEL_BYTES, UNK, UNKNOWN, Tokenizer, TokenizerPair, parse_model

NORMAL, UNKNOWN_PIECE, CONTROL, USER_DEFINED, UNUSED = range(1, 6)  # kinds of pieces


def read_own(config: TokenizerConfig, *, tokenised: bool, symbols: Sequence[str] = ()) -> TokenizerPair:
    """The tokenizers of the models of ``tokenizer.path``.

    Args:
        config: which names one model for both sides, or two.
        tokenised: as of :class:`Tokenizer`.
        symbols: words that must be pieces of the source.

    Raises:
        UserError: for a file that is missing or no SentencePiece model, or that lacks a symbol.
    """
    source, *others = (Tokenizer(_read(path), tokenised=tokenised) for path in config.paths)
    if missing := set(symbols) - set(source.tags):
        raise UserError(
            f"tokenizer.path: {shown_path(config.paths[0])} has no piece {shorten(min(missing))}, the tag of "
            "a corpus of the mixture; expected it among the user-defined symbols, before all other pieces"
        )
    if others or config.shared:
        return TokenizerPair(source, others[0] if others else source)
    return TokenizerPair(source, Tokenizer(source.model, tokenised=tokenised))


def _read(path: str) -> bytes:
    """A SentencePiece model whose ids 0 to 3 are padding, unknown, begin and end of sentence."""
    where = f"tokenizer.path: {shown_path(path)}"
    try:
        model = parse_model(read_bounded(user_path(path), limit=MAX_MODEL_BYTES))
    except FileNotFoundError as error:
        raise UserError(f"{where}: no such file") from error
    except ValueError as error:
        raise UserError(f"{where}: no SentencePiece model; expected a file that spm_train wrote") from error
    trained = model.trainer_spec
    ids = [trained.pad_id, trained.unk_id, trained.bos_id, trained.eos_id]
    others = [p for number, p in enumerate(model.pieces) if number not in ids and p.piece not in RESERVED]
    if not others:
        raise UserError(f"{where}: no SentencePiece model (it has no pieces)")
    put_special_first(model, others)
    with explained(f"{where}: no SentencePiece model", RuntimeError):
        content = bytes(model.SerializeToString())
        Tokenizer(content)
    return content


def put_special_first(model: Any, others: Sequence[Any]) -> None:
    """Give a model our special pieces in our order; the ``others`` follow."""
    trained = model.trainer_spec
    del model.pieces[:]
    for number, name in enumerate(RESERVED):
        model.pieces.add(piece=name, score=0.0, type=UNKNOWN_PIECE if number == UNK else CONTROL)
    model.pieces.extend(others)
    trained.pad_id, trained.unk_id, trained.bos_id, trained.eos_id = range(NUM_SPECIAL)
    trained.pad_piece, trained.unk_piece, trained.bos_piece, trained.eos_piece = RESERVED
    trained.unk_surface, trained.vocab_size = UNKNOWN, len(model.pieces)
