"""Exports a Transformer to CTranslate2, a fast engine for CPUs and GPUs, through its own converter.

CTranslate2 computes its own positions unless it gets a table, so the export has a table of ours, as long as
the longest sentence of the run's search.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from translate.attention import MultiHead
from translate.errors import UserError
from translate.export.architecture import (
    Refusals,
    norm_of,
    num_heads_of,
    position_table,
    pre_norm_of,
    refuse_attentions,
    transformer_of,
)
from translate.export.contents import (
    Contents,
    Engine,
    Rendered,
    batches_of_one_length,
    require,
    vocabulary,
)
from translate.models import Transformer
from translate.models.embedding import Positions
from translate.models.transformer_layer import FeedForward, Layer
from translate.text.tokenizer import BOS, EOS, UNK

FORMAT = "ctranslate2"
QUANTIZATIONS = ("float32", "int8", "int8_float32", "int16", "float16", "bfloat16")
EXACT = "float32"


def export(contents: Contents, directory: Path, quantization: str = EXACT) -> Engine:
    """Write ``model.bin``, ``config.json``, vocabularies and SentencePiece models.

    Args:
        contents: of a Transformer.
        directory: to be created.
        quantization: one of ``QUANTIZATIONS``: the type of stored weights, and of computation if the
            processor supports it.

    Returns:
        The engine, which translates with the written files.

    Raises:
        UserError: for a setting that CTranslate2 cannot represent, or if it is not installed.
    """
    if quantization not in QUANTIZATIONS:
        raise UserError(f"--quantization: expected one of {', '.join(QUANTIZATIONS)}, got {quantization!r}")
    model = transformer_of(contents.model, FORMAT)
    _refuse(model)
    library = require("ctranslate2", FORMAT)
    require("ctranslate2.converters", FORMAT)
    specification = _specification(library, contents, model)

    class Converter(library.converters.converter.Converter):  # type: ignore[name-defined]
        def _load(self) -> Any:
            return specification

    Converter().convert(str(directory), quantization=quantization, force=True)
    contents.tokenizers.save(directory / "tokenizer")
    return _engine(library, contents, directory, quantization)


def _refuse(model: Transformer) -> None:
    refusals = Refusals(FORMAT)
    refuse_attentions(model, refusals)
    kind = model.source_positions.kind
    refusals.unless(kind != "rotary", "model.positions", kind, "sinusoidal, learned, none")
    refusals.check()


def _specification(library: Any, contents: Contents, model: Transformer) -> Any:
    specs, feedforward = library.specs, model.decoder[0].feedforward
    activations = library.specs.common_spec.Activation
    activation = {"relu": activations.RELU, "gelu": activations.GELU, "swiglu": activations.SWISH}
    options = {
        "pre_norm": pre_norm_of(model),
        "activation": activation[feedforward.kind],
        "ffn_glu": feedforward.kind == "swiglu",
        "rms_norm": norm_of(model) == "rms",
    }
    encoder = specs.transformer_spec.TransformerEncoderSpec(
        len(model.encoder), num_heads_of(model.encoder[0]), **options
    )
    decoder = specs.transformer_spec.TransformerDecoderSpec(
        len(model.decoder),
        num_heads_of(model.decoder[0]),
        alignment_layer=contents.choice.layer,
        alignment_heads=_first_heads(contents),
        **options,
    )
    _embed(encoder, encoder.embeddings[0], model.source_embedding)
    _embed(decoder, decoder.embeddings, model.target_embedding)
    _place(encoder, model.source_positions, contents.longest_source, model.width)
    _place(decoder, model.target_positions, contents.longest_target, model.width)
    decoder.projection.weight = _array(model.output_weight)
    for side, layers, norm in (
        (encoder, model.encoder, model.encoder_norm),
        (decoder, model.decoder, model.decoder_norm),
    ):
        if pre_norm_of(model):
            _normalise(side.layer_norm, norm)
        for specification, layer in zip(side.layer, layers, strict=True):
            _layer(specification, layer)
    found = specs.TransformerSpec(encoder, decoder)
    _describe(found, contents, model)
    return found


def _describe(specification: Any, contents: Contents, model: Transformer) -> None:
    """Set the vocabularies, special pieces, and the epsilon of the norms."""
    source, target = vocabulary(contents.tokenizers.source), vocabulary(contents.tokenizers.target)
    specification.register_source_vocabulary(source)
    specification.register_target_vocabulary(target)
    config = specification.config
    config.unk_token, config.bos_token, config.eos_token = target[UNK], target[BOS], target[EOS]
    config.decoder_start_token, config.add_source_eos = target[BOS], True
    norm = model.decoder[0].self_norm
    assert isinstance(norm, nn.LayerNorm | nn.RMSNorm)
    config.layer_norm_epsilon = torch.finfo(torch.float32).eps if norm.eps is None else norm.eps


def _first_heads(contents: Contents) -> int:
    """The number of heads that show the alignment; all, unless the chosen heads are the first ones."""
    heads = sorted(contents.choice.heads)
    return len(heads) if heads == list(range(len(heads))) else contents.model.num_attention_heads


def _layer(specification: Any, layer: Layer) -> None:
    own = layer.self_attention
    fused = [own.query_projection, own.key_value_projection]
    _attend(specification.self_attention, [fused, [own.output_projection]], layer.self_norm)
    if layer.cross_attention is not None:
        cross = layer.cross_attention
        assert isinstance(cross, MultiHead)
        linears = [[cross.query_projection], [cross.key_value_projection], [cross.output_projection]]
        _attend(specification.attention, linears, layer.cross_norm)
    _feed(specification.ffn, layer.feedforward)
    _normalise(specification.ffn.layer_norm, layer.feedforward_norm)


def _attend(specification: Any, linears: Sequence[Sequence[nn.Linear]], norm: nn.Module) -> None:
    for target, parts in zip(specification.linear, linears, strict=True):
        target.weight = _array(torch.cat([part.weight for part in parts]))
        if parts[0].bias is not None:
            target.bias = _array(torch.cat([part.bias for part in parts]))
    _normalise(specification.layer_norm, norm)


def _feed(specification: Any, feedforward: FeedForward) -> None:
    inner = [specification.linear_0]
    if feedforward.kind == "swiglu":  # the first half is the gate, which has the activation
        inner.append(specification.linear_0_noact)
    weights = feedforward.inner.weight.chunk(len(inner))
    biases = feedforward.inner.bias.chunk(len(inner))
    for target, weight, bias in zip(inner, weights, biases, strict=True):
        target.weight, target.bias = _array(weight), _array(bias)
    specification.linear_1.weight = _array(feedforward.outer.weight)
    specification.linear_1.bias = _array(feedforward.outer.bias)


def _normalise(specification: Any, norm: nn.Module) -> None:
    specification.gamma = _array(norm.weight)
    if isinstance(norm, nn.LayerNorm):
        specification.beta = _array(norm.bias)


def _embed(side: Any, specification: Any, embedding: nn.Embedding) -> None:
    side.scale_embeddings = True
    specification.weight = _array(embedding.weight)


def _place(side: Any, positions: Positions, length: int, width: int) -> None:
    side.position_encodings.encodings = _array(position_table(positions, length, width))


def _array(tensor: Tensor | nn.Module) -> Any:
    """A copy, since the converter changes its input."""
    assert isinstance(tensor, Tensor)
    return tensor.detach().float().clone(memory_format=torch.contiguous_format).numpy()


def _engine(library: Any, contents: Contents, directory: Path, quantization: str) -> Engine:
    translator = library.Translator(
        str(directory), device="cpu", compute_type=quantization, intra_threads=torch.get_num_threads()
    )
    tokenizers, search = contents.tokenizers, contents.search

    def translate(sentences: Sequence[str]) -> list[Rendered]:
        found = {i: Rendered("", 0.0) for i in range(len(sentences))}
        sources = [contents.encode(sentence) for sentence in sentences]
        for rows in batches_of_one_length(sources, search.batch_size):
            length = len(sources[rows[0]])
            if length == 1:  # only end of sentence
                continue
            results = translator.translate_batch(
                [tokenizers.source.pieces(sources[i][:-1]) for i in rows],
                beam_size=search.beam_size,
                length_penalty=search.length_penalty,
                max_input_length=0,
                min_decoding_length=0,
                max_decoding_length=min(search.longest(length), contents.longest_target),
                return_scores=True,
            )
            for i, result in zip(rows, results, strict=True):
                text = tokenizers.target.decode(tokenizers.target.ids(result.hypotheses[0]))
                found[i] = Rendered(text, result.scores[0])
        return [found[i] for i in range(len(sentences))]

    return translate
