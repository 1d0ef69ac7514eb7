"""Tiny Marian models of ``transformers`` in the layout of the hub, and in Marian's own files."""

import io
import itertools
import json
import math
import re
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy
import pytest
import sentencepiece
import torch
import yaml  # type: ignore[import-untyped]

from tests.export.contents import SOURCES, TARGETS

TAGS = (">>deu<<", ">>fra<<")
STEPS = 250  # until translations end, and no choice among pieces is close
# A part of a layer in Marian's own files.
OWN = {
    **{f"self_attn.{x}_proj": f"self_{{}}{x[0]}" for x in ("q", "k", "v", "out")},
    **{f"encoder_attn.{x}_proj": f"context_{{}}{x[0]}" for x in ("q", "k", "v", "out")},
    **{"fc1": "ffn_{}1", "fc2": "ffn_{}2", "final_layer_norm": "ffn_ffn_ln_{}"},
    **{f"{a}_attn_layer_norm": f"{b}_Wo_ln_{{}}" for a, b in (("self", "self"), ("encoder", "context"))},
}
MISSING = 7  # every so many pieces of the SentencePiece models is not in the vocabulary


def make_marian(folder: Path, *, separate: bool = False) -> tuple[Any, Any]:
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
    padding = max(map(len, vocabularies))  # both have one number for it
    for name, vocabulary in zip(("vocab", "target_vocab"), vocabularies):
        text = json.dumps(vocabulary | {"<pad>": padding})
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it recommends a package that is not needed here
        files = ["source.spm", "target.spm", "vocab.json", *["target_vocab.json"] * separate]
        languages = {"source_lang": "en", "target_lang": "fr", "separate_vocabs": separate}
        tokenizer = library.MarianTokenizer(*(str(folder / file) for file in files), **languages)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(5)
    special = {"pad_token_id": padding, "decoder_start_token_id": padding, "eos_token_id": 0}
    sizes = {"d_model": 24, "encoder_layers": 2, "decoder_layers": 3, "max_position_embeddings": 64}
    for side in ("encoder", "decoder"):
        sizes |= {f"{side}_attention_heads": 3, f"{side}_ffn_dim": 34}
    config = library.MarianConfig(
        vocab_size=padding + 1,
        activation_function="swish",
        scale_embedding=True,
        share_encoder_decoder_embeddings=not separate,
        forced_eos_token_id=None,
        init_std=0.2,
        **sizes,
        **special,
    )
    model = library.MarianMTModel(config)
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
    search = {"num_beams": 4, "max_length": 64, "bad_words_ids": [[padding]]}
    model.generation_config = library.GenerationConfig(**search, **special)
    model.save_pretrained(folder)
    return model, tokenizer


def write_own(folder: Path, original: Path, model: Any, *, tied: bool = True, **changed: Any) -> None:
    """Write a model as Marian does; before, it gets Marian's positions, and padding that is nothing.

    Args:
        folder: to be created.
        original: that :func:`make_marian` wrote.
        model: of the ``original``, which is changed.
        tied: whether the target's embedding is the output's matrix, too.
        changed: settings, with ``_`` for ``-``; norms at the top are written if there are any.
    """
    folder.mkdir()
    config, half = model.config, model.config.d_model // 2
    shared, sizes = config.share_encoder_decoder_embeddings, {}
    for name in ("encoder", "decoder"):
        side = getattr(model.model, name)
        for place, row in enumerate(side.embed_positions.weight.data):
            angles = [place * math.exp(-wave * math.log(10_000) / (half - 1)) for wave in range(half)]
            row[:] = torch.tensor([*map(math.sin, angles), *map(math.cos, angles)])
        side.embed_tokens.weight.data[config.pad_token_id] = 0
        file = original / ("vocab.json" if shared or name == "encoder" else "target_vocab.json")
        pieces = json.loads(file.read_text(encoding="utf-8"))
        sizes[name] = pieces.pop("<pad>") and len(pieces)
        text = yaml.safe_dump(pieces, allow_unicode=True, sort_keys=False)
        (folder / f"{name}.vocab.yml").write_text(text, encoding="utf-8")
    model.final_logits_bias[0, config.pad_token_id] = -100
    arrays = {"decoder_ff_logit_out_b": model.final_logits_bias[:, : sizes["decoder"]]}
    if not tied:
        arrays["decoder_ff_logit_out_W"] = model.lm_head.weight[: sizes["decoder"]].T
    for name, tensor in model.model.state_dict().items():
        side, *parts, kind = name.split(".")  # encoder.layers.0.fc1.weight
        if parts == ["embed_tokens"]:
            arrays["Wemb" if shared else f"{side}_Wemb"] = tensor[: sizes[side]]
        elif len(parts) > 2:
            own = OWN[".".join(parts[2:])]
            short = {"weight": "scale", "bias": "bias"} if "_ln_" in own else {"weight": "W", "bias": "b"}
            own = f"{side}_l{int(parts[1]) + 1}_{own.format(short[kind])}"
            arrays[own] = tensor.T if tensor.dim() > 1 else tensor[None]
    settings = {
        **{"type": "transformer", "transformer-decoder-autoreg": "self-attention", "dim-emb": config.d_model},
        **{"enc-depth": config.encoder_layers, "dec-depth": config.decoder_layers},
        **{
            "transformer-heads": config.encoder_attention_heads,
            "transformer-dim-ffn": config.encoder_ffn_dim,
        },
        **{"transformer-ffn-activation": config.activation_function, "transformer-no-projection": False},
        **{
            "transformer-preprocess": "",
            "transformer-postprocess": "dan",
            "transformer-postprocess-emb": "d",
        },
        **{"transformer-postprocess-top": "", "transformer-guided-alignment-layer": "last"},
    }
    decoder = {"models": ["model.npz"], "vocabs": ["encoder.vocab.yml", "decoder.vocab.yml"], "beam-size": 4}
    for name, value in changed.items():
        name = name.replace("_", "-")
        (settings if name in settings else decoder)[name] = value
    (folder / "decoder.yml").write_text(yaml.safe_dump({**decoder, "normalize": 1}), encoding="utf-8")
    if settings["transformer-postprocess-top"]:
        arrays = {re.sub(r"(_ln_\w+)", r"\1_pre", name): tensor for name, tensor in arrays.items()}
        for side, part in itertools.product(sizes, ("scale", "bias")):
            arrays[f"{side}_top_ln_{part}"] = torch.linspace(0.5, 1.5, config.d_model).unsqueeze(0)
    found: dict[str, Any] = {name: tensor.detach().numpy() for name, tensor in arrays.items()}
    found["special:model.yml"] = numpy.frombuffer(yaml.safe_dump(settings).encode() + b"\0", numpy.int8)
    numpy.savez(folder / "model.npz", **found)
    for side in ("source", "target"):
        shutil.copy(original / f"{side}.spm", folder)
