"""Exports a Transformer as a Hugging Face model: Marian for post-norm models, Pegasus for pre-norm models.

Both are the Transformer of Vaswani et al. 2017 with the same names of weights. Positions are stored with the
weights, since our sinusoids have other wave lengths than theirs. The tokenizer is Marian's.
"""

import json
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from translate.attention import MultiHead
from translate.config.data import TAG
from translate.export.contents import Contents, Engine, batches_of_one_length, require
from translate.models import Transformer
from translate.models.transformer_layer import Layer
from translate.runs.checkpoint import save_weights
from translate.search.ctranslate2.conversion import (
    norm_of,
    num_heads_of,
    position_table,
    pre_norm_of,
    refuse_attentions,
    tie_of,
    transformer_of,
)
from translate.text.tokenizer import BOS, EOS, PAD, SPACE, UNK
from translate.translation import Translation

FORMAT = "huggingface"
# For the configuration and for ``generate``; the end is forced at the maximum length.
SPECIAL = {"bos_token_id": BOS, "eos_token_id": EOS, "pad_token_id": PAD, "decoder_start_token_id": BOS}
SPECIAL["forced_eos_token_id"] = EOS


def export(contents: Contents, directory: Path) -> Engine:
    """Write ``config.json``, ``generation_config.json``, ``model.safetensors`` and the tokenizer's files.

    Args:
        contents: of a Transformer.
        directory: to be created.

    Returns:
        The engine, which translates with the written files.

    Raises:
        UserError: for a setting that neither architecture can represent, or if ``transformers`` is not
            installed.
    """
    model = transformer_of(contents.model, f"--format {FORMAT}")
    _refuse(model)
    library = require("transformers", FORMAT)
    directory.mkdir(parents=True)
    config = _config(library, contents, model)
    config.save_pretrained(directory)
    search = contents.search
    beams = {"length_penalty": search.length_penalty, "early_stopping": search.stop == "full"}
    library.GenerationConfig(
        num_beams=search.beam_size,
        **(beams if search.beam_size > 1 else {}),  # greedy search has neither, and they are refused
        max_length=contents.longest_target + 1,  # with the begin of sentence
        suppress_tokens=[PAD, BOS],
        **SPECIAL,
    ).save_pretrained(directory)
    save_weights(_weights(contents, model), directory / "model.safetensors", {"format": "pt"})
    _write_tokenizer(contents, directory)
    return _engine(library, contents, directory)


def _refuse(model: Transformer) -> None:
    refusals = refuse_attentions(model, f"--format {FORMAT}")
    refusals.unless(norm_of(model) == "layer", "model.norm", norm_of(model), "layer")
    kind = model.source_positions.kind
    others = "sinusoidal, marian, learned, none; train with model.positions=sinusoidal for it"
    refusals.unless(kind != "rotary", "model.positions", kind, others)
    feedforward = model.decoder[0].feedforward.kind
    refusals.unless(feedforward != "swiglu", "model.feedforward", feedforward, "relu, gelu, swish")
    tie = tie_of(model)
    ties = "all where model.pre_norm=true"
    refusals.unless(tie == "all" or not pre_norm_of(model), "model.tie", tie, ties)
    refusals.check()


def _config(library: Any, contents: Contents, model: Transformer) -> Any:
    source_size, target_size = len(contents.tokenizers.source), len(contents.tokenizers.target)
    size = model.decoder[0].feedforward.outer.in_features
    options: dict[str, Any] = {
        "architectures": ["PegasusForConditionalGeneration" if pre_norm_of(model) else "MarianMTModel"],
        "vocab_size": source_size,
        "d_model": model.width,
        "encoder_layers": len(model.encoder),
        "decoder_layers": len(model.decoder),
        "encoder_attention_heads": num_heads_of(model.encoder[0]),
        "decoder_attention_heads": num_heads_of(model.decoder[0]),
        "encoder_ffn_dim": size,
        "decoder_ffn_dim": size,
        "activation_function": model.decoder[0].feedforward.kind,
        "dropout": model.dropout.p,
        "scale_embedding": True,
        "max_position_embeddings": _num_positions(contents, model),
        **SPECIAL,
        "tie_word_embeddings": tie_of(model) != "none",
        "dtype": "float32",
    }
    if pre_norm_of(model):
        return library.PegasusConfig(**options)
    shared = tie_of(model) == "all"
    return library.MarianConfig(
        **options, decoder_vocab_size=target_size, share_encoder_decoder_embeddings=shared
    )


def _num_positions(contents: Contents, model: Transformer) -> int:
    if model.source_positions.kind == "learned":
        return model.source_positions.max_length
    return max(contents.longest_source, contents.longest_target)


def _weights(contents: Contents, model: Transformer) -> dict[str, Tensor]:
    """Copies of all weights, zeros for biases that the model lacks, and tables of the positions."""
    found = {name: tensor.clone() for name, tensor in named_weights(model)}
    found.setdefault("final_logits_bias", torch.zeros(1, len(model.output_weight)))
    for name in [name for name in found if name.endswith("_proj.weight")]:
        found.setdefault(name.removesuffix("weight") + "bias", torch.zeros(len(found[name])))
    for side, positions in (("encoder", model.source_positions), ("decoder", model.target_positions)):
        table = position_table(positions, _num_positions(contents, model), model.width)
        found[f"model.{side}.embed_positions.weight"] = table.clone()
    return found


def named_weights(model: Transformer) -> Iterator[tuple[str, Tensor]]:
    """The model's own numbers, without gradients, under their names in both architectures.

    They share the model's memory, so that whoever reads such a model writes into them.
    """
    tie = tie_of(model)
    if tie == "all":
        yield "model.shared.weight", model.source_embedding.weight.detach()
    else:
        yield "model.encoder.embed_tokens.weight", model.source_embedding.weight.detach()
        yield "model.decoder.embed_tokens.weight", model.target_embedding.weight.detach()
    if tie == "none":
        yield "lm_head.weight", model.output_weight.detach()
    if model.output_bias is not None:
        yield "final_logits_bias", model.output_bias.detach().unsqueeze(0)
    for side, positions, layers, norm in (
        ("encoder", model.source_positions, model.encoder, model.encoder_norm),
        ("decoder", model.target_positions, model.decoder, model.decoder_norm),
    ):
        name = f"model.{side}"
        if positions.kind == "learned":
            yield f"{name}.embed_positions.weight", positions.table.detach()
        yield from _named(f"{name}.layer_norm", norm)  # none after the last norm of a post-norm layer
        for index, layer in enumerate(layers):
            yield from _layer_weights(f"{name}.layers.{index}", layer)


def _layer_weights(name: str, layer: Layer) -> Iterator[tuple[str, Tensor]]:
    yield from _attention_weights(f"{name}.self_attn", layer.self_attention)
    yield from _named(f"{name}.self_attn_layer_norm", layer.self_norm)
    if layer.cross_attention is not None:
        assert isinstance(layer.cross_attention, MultiHead)
        yield from _attention_weights(f"{name}.encoder_attn", layer.cross_attention)
        yield from _named(f"{name}.encoder_attn_layer_norm", layer.cross_norm)
    yield from _named(f"{name}.fc1", layer.feedforward.inner)
    yield from _named(f"{name}.fc2", layer.feedforward.outer)
    yield from _named(f"{name}.final_layer_norm", layer.feedforward_norm)


def _attention_weights(name: str, attention: MultiHead) -> Iterator[tuple[str, Tensor]]:
    yield from _named(f"{name}.q_proj", attention.query_projection)
    for part, parameter in attention.key_value_projection.named_parameters():
        keys, values = parameter.detach().chunk(2)
        yield f"{name}.k_proj.{part}", keys
        yield f"{name}.v_proj.{part}", values
    yield from _named(f"{name}.out_proj", attention.output_projection)


def _named(name: str, module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    for part, parameter in module.named_parameters():
        yield f"{name}.{part}", parameter.detach()


def _write_tokenizer(contents: Contents, directory: Path) -> None:
    """Write the files of MarianTokenizer: SentencePiece models, and the id of each piece."""
    tokenizers = contents.tokenizers
    sides = ("source", "vocab", tokenizers.source), ("target", "target_vocab", tokenizers.target)
    for side, name, tokenizer in sides:
        (directory / f"{side}.spm").write_bytes(tokenizer.model)
        if side == "source" or not tokenizers.shared:
            ids = {without_space(piece): i for i, piece in enumerate(tokenizer.all_pieces)}
            text = json.dumps(ids, ensure_ascii=False, indent=0)
            (directory / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    pieces = tokenizers.source.all_pieces
    description = {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": contents.languages[0] or None,
        "target_lang": contents.languages[1] or None,
        "separate_vocabs": not tokenizers.shared,
        "tokenised": tokenizers.source.tokenised,  # for `translate import`
        "model_max_length": contents.longest_source,
        "clean_up_tokenization_spaces": False,
        "unk_token": pieces[UNK],
        "eos_token": pieces[EOS],
        "pad_token": pieces[PAD],
    }
    text = json.dumps(description, indent=2)
    (directory / "tokenizer_config.json").write_text(text + "\n", encoding="utf-8")


def without_space(piece: str) -> str:
    """A piece as the vocabulary of Marian's tokenizer has it: tags of languages without their space."""
    tag = piece.removeprefix(SPACE)
    return tag if TAG.fullmatch(tag) else piece


def _engine(library: Any, contents: Contents, directory: Path) -> Engine:
    with warnings.catch_warnings(action="ignore"):  # it recommends a package that is not needed here
        tokenizer = library.AutoTokenizer.from_pretrained(directory)
    log = library.utils.logging
    shown = log.is_progress_bar_enabled()
    log.disable_progress_bar()
    model = library.AutoModelForSeq2SeqLM.from_pretrained(directory).eval()
    if shown:
        log.enable_progress_bar()
    search = contents.search

    def translate(sentences: Sequence[str]) -> list[Translation]:
        sentences = [contents.tokenizers.source.prepare(sentence) for sentence in sentences]
        found = [Translation("", 0.0)] * len(sentences)
        sources = [contents.encode(sentence) for sentence in sentences]
        for rows in batches_of_one_length(sources, search.batch_size):
            length = len(sources[rows[0]])
            if length == 1:
                continue
            batch = tokenizer(
                [sentences[i] for i in rows], return_tensors="pt", padding=True, truncation=True
            )
            generated = model.generate(
                **batch,
                max_length=min(search.longest(length), contents.longest_target) + 1,
                return_dict_in_generate=True,
                output_scores=True,
            )
            texts = tokenizer.batch_decode(generated.sequences, skip_special_tokens=True)
            for i, text, score in zip(rows, texts, _scores(model, generated, search.length_penalty)):
                found[i] = Translation(text, score)
        return found

    return translate


def _scores(model: Any, generated: Any, length_penalty: float) -> list[float]:
    """Log-probability / length ** length_penalty of each generated sequence."""
    if "sequences_scores" in generated:
        return list(generated.sequences_scores.tolist())
    steps = model.compute_transition_scores(generated.sequences, generated.scores, normalize_logits=True)
    seen = generated.sequences[:, 1:] != PAD
    return list((steps.masked_fill(~seen, 0.0).sum(1) / seen.sum(1) ** length_penalty).tolist())
