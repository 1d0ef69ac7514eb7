"""Tiny Marian models of ``transformers`` in the layout of the hub."""

import io
import json
import warnings
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch

from tests.export.contents import SOURCES, TARGETS

TAGS = (">>deu<<", ">>fra<<")
STEPS = 100  # until translations end
MISSING = 7  # every so many pieces of the SentencePiece models is not in the vocabulary


def make_marian(folder: Path, *, separate: bool = False, **config: Any) -> tuple[Any, Any]:
    """Write a model that knows its few sentences into ``folder``; returns it and its tokenizer."""
    library = pytest.importorskip("transformers")
    folder.mkdir()
    vocabularies: list[dict[str, int]] = [{"</s>": 0, "<unk>": 1, **{TAGS[0]: 2, TAGS[1]: 3}}]
    if separate:
        vocabularies.append({"</s>": 0, "<unk>": 1})
    for side, lines, vocabulary in (
        ("source", SOURCES, vocabularies[0]),
        ("target", [*TARGETS, "ça"], vocabularies[-1]),
    ):
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter([line for line in lines if line] * 5),
            model_writer=model,
            vocab_size=40,
            hard_vocab_limit=False,
            minloglevel=2,
        )
        (folder / f"{side}.spm").write_bytes(model.getvalue())
        pieces = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
        for number in range(3, pieces.get_piece_size()):
            if number % MISSING or separate:
                vocabulary.setdefault(pieces.id_to_piece(number), len(vocabulary))
    for name, vocabulary in zip(("vocab", "target_vocab"), vocabularies):
        vocabulary["<pad>"] = len(vocabulary)
        (folder / f"{name}.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    if separate:  # both have one number for padding
        size = max(map(len, vocabularies))
        for name, vocabulary in zip(("vocab", "target_vocab"), vocabularies):
            vocabulary["<pad>"] = size
            (folder / f"{name}.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    padding = vocabularies[0]["<pad>"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it recommends a package that is not needed here
        tokenizer = library.MarianTokenizer(
            str(folder / "source.spm"),
            str(folder / "target.spm"),
            str(folder / "vocab.json"),
            str(folder / "target_vocab.json") if separate else None,
            source_lang="en",
            target_lang="fr",
            separate_vocabs=separate,
        )
    tokenizer.save_pretrained(folder)
    torch.manual_seed(5)
    model = library.MarianMTModel(
        library.MarianConfig(
            **{
                "vocab_size": padding + 1,
                "d_model": 24,
                "encoder_layers": 2,
                "decoder_layers": 3,
                "encoder_attention_heads": 3,
                "decoder_attention_heads": 3,
                "encoder_ffn_dim": 34,
                "decoder_ffn_dim": 34,
                "max_position_embeddings": 64,
                "activation_function": "swish",
                "scale_embedding": True,
                "share_encoder_decoder_embeddings": not separate,
                "pad_token_id": padding,
                "decoder_start_token_id": padding,
                "eos_token_id": 0,
                "forced_eos_token_id": None,
                "init_std": 0.2,
                **config,
            }
        )
    )
    model.final_logits_bias.normal_()
    pairs = [(source, target) for source, target in zip(SOURCES, TARGETS, strict=True) if source]
    sources, targets = (list(side) for side in zip(*pairs))
    batch = tokenizer(sources, text_target=targets, return_tensors="pt", padding=True)
    batch["labels"] = batch["labels"].masked_fill(batch["labels"] == padding, -100)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(STEPS):
        optimizer.zero_grad()
        model(**batch).loss.backward()
        optimizer.step()
    model.eval()
    model.generation_config = library.GenerationConfig(
        num_beams=4,
        max_length=64,
        bad_words_ids=[[padding]],
        pad_token_id=padding,
        eos_token_id=0,
        decoder_start_token_id=padding,
    )
    model.save_pretrained(folder)
    return model, tokenizer
