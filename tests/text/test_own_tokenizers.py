"""A model that SentencePiece made with its own ids cuts as before, with the special pieces where ours are."""

import io
from pathlib import Path
from typing import Any

import pytest
import sentencepiece

from translate.config.data import TokenizerConfig
from translate.errors import UserError
from translate.text.own_tokenizers import read_own
from translate.text.tokenizer import BOS, EOS, PAD, UNK, UNKNOWN

TEXT = ["a b c d abc", "bca abc dab"] * 20
SENTENCE = "abc dab cab é"


def write_model(path: Path, **options: object) -> sentencepiece.SentencePieceProcessor:
    model = io.BytesIO()
    given: dict[str, Any] = {"vocab_size": 13, "hard_vocab_limit": False, "minloglevel": 2} | options
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(TEXT), model_writer=model, **given)
    path.write_bytes(model.getvalue())
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


@pytest.mark.parametrize(
    "options",
    [
        {},  # unknown, begin and end are 0, 1 and 2, and there is no padding
        {"model_type": "bpe", "byte_fallback": True, "vocab_size": 280},
        {"pad_id": 3, "bos_id": -1, "eos_id": 0, "unk_id": 1, "pad_piece": "[PAD]", "unk_piece": "[UNK]"},
        {"user_defined_symbols": ["<law>"], "control_symbols": ["<pad>"]},
    ],
)
def test_pieces_stay_and_special_ids_are_ours(tmp_path: Path, options: dict[str, object]) -> None:
    path = tmp_path / "own.model"
    before = write_model(path, **options)
    pair = read_own(TokenizerConfig(path=str(path)), tokenised=False)
    assert pair.shared
    found = pair.source
    assert found.pieces([PAD, UNK, BOS, EOS]) == ["<pad>", "<unk>", "<s>", "</s>"]
    assert found.model_type == options.get("model_type", "unigram")
    ids, unknown = found.encode(SENTENCE), before.unk_id()
    wanted = [before.id_to_piece(i) for i in before.encode(SENTENCE) if i != unknown]
    assert [found.all_pieces[i] for i in ids if i != UNK] == wanted
    assert found.decode(ids) == ("abc dab cab é" if "byte_fallback" in options else f"abc dab cab {UNKNOWN}")
    assert found.tags == (("<law>",) if "user_defined_symbols" in options else ())


def test_two_models_and_the_share_of_unknown_characters(tmp_path: Path) -> None:
    names = [str(tmp_path / name) for name in ("a.model", "b.model")]
    for name in names:
        write_model(Path(name))
    pair = read_own(TokenizerConfig(path=names, shared=False), tokenised=False)
    assert not pair.shared
    assert pair.source.unknown_share(["abc xyz", "d  x"]) == pytest.approx(4 / 8)
    assert pair.source.unknown_share([]) == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "none.model: no such file"),
        (b"", "own.model: no SentencePiece model"),
        (b"hello world", "own.model: no SentencePiece model; expected a file that spm_train wrote"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / ("none.model" if content is None else "own.model")
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError, match=message):
        read_own(TokenizerConfig(path=str(path)), tokenised=False)


def test_settings_that_do_not_fit(tmp_path: Path) -> None:
    write_model(tmp_path / "own.model")
    with pytest.raises(UserError, match="path: two models are not shared by both sides"):
        TokenizerConfig(path=["a", "b"])
    with pytest.raises(UserError, match="path: expected one model, or one each side, got 3"):
        TokenizerConfig(path=["a", "b", "c"], shared=False)
    with pytest.raises(UserError, match="has no piece <law>, the tag of a corpus of the mixture"):
        read_own(TokenizerConfig(path=str(tmp_path / "own.model")), tokenised=False, symbols=["<law>"])
