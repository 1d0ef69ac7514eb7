"""A Transformer as CTranslate2's files, by its own specification, and what other engines cannot hold.

CTranslate2 computes its own positions unless it gets a table, so the files hold a table of ours, as long as
the longest sentence of the run's search.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from translate.alignment.alignment import AlignmentChoice
from translate.attention import MultiHead
from translate.config.search import SearchConfig
from translate.errors import UserError
from translate.models import Seq2Seq, Transformer
from translate.models.embedding import SINUSOIDS, Positions, sinusoids
from translate.models.transformer_layer import FeedForward, Layer
from translate.text.tokenizer import BOS, EOS, UNK, TokenizerPair

SEARCH_SETTINGS = (
    "length_normalisation",
    "coverage_penalty",
    "min_length",
    "min_length_ratio",
    "no_repeat_ngram",
    "sample",
)


@dataclass
class Refusals:
    """Settings that another engine cannot represent, collected so that one message lists all of them."""

    who: str  # the engine or the option of the command that chose it
    found: list[str] = field(default_factory=list)

    def unless(self, fits: bool, setting: str, value: Any, expected: str) -> None:
        """Add ``setting`` unless it fits."""
        refusal = f"{setting}={value} (it has {expected})"
        if not fits and refusal not in self.found:
            self.found.append(refusal)

    def check(self) -> None:
        """Raise ``UserError`` if there are any."""
        if self.found:
            raise UserError(f"{self.who} cannot represent {', '.join(self.found)}")


def unsupported(search: SearchConfig) -> list[str]:
    """The settings of the search that other engines do not have.

    CTranslate2 forbids pieces before the softmax, ours after it, so that other scores would result.
    """
    plain = SearchConfig()
    return [name for name in SEARCH_SETTINGS if getattr(search, name) != getattr(plain, name)]


def refuse_search(search: SearchConfig, who: str) -> None:
    """Raise ``UserError`` for settings of the search that an export does not hold.

    The other engine would translate differently, and the proof would blame the weights.
    """
    refusals, plain = Refusals(who), SearchConfig()
    for name in unsupported(search):
        refusals.unless(False, f"search.{name}", getattr(search, name), str(getattr(plain, name)))
    refusals.check()


def transformer_of(model: Seq2Seq, who: str) -> Transformer:
    """The model as a Transformer; raises ``UserError`` for another one."""
    if not isinstance(model, Transformer):
        raise UserError(
            f"{who} cannot represent model={type(model).__name__}, only Transformers; "
            f"use --format onnx or bundle"
        )
    return model


def pre_norm_of(model: Transformer) -> bool:
    """Whether norms precede attention and feed-forward."""
    return model.decoder[0].pre_norm


def norm_of(model: Transformer) -> str:
    """The kind of the norms: ``layer`` or ``rms``."""
    return "layer" if isinstance(model.decoder[0].self_norm, nn.LayerNorm) else "rms"


def tie_of(model: Transformer) -> str:
    """``all``, ``target`` or ``none``."""
    if model.output_weight is not model.target_embedding.weight:
        return "none"
    return "all" if model.source_embedding is model.target_embedding else "target"


def num_heads_of(layer: Layer) -> int:
    """Number of heads of self-attention and cross-attention, equal after :func:`refuse_attentions`."""
    return layer.self_attention.num_heads


def refuse_attentions(model: Transformer, who: str) -> Refusals:
    """Refuse all but multi-head attention as wide as the model, with equal numbers of heads in a layer."""
    refusals = Refusals(who)
    for layer in (*model.encoder, *model.decoder):
        parts = [("model.self_attention", layer.self_attention), ("model.attention", layer.cross_attention)]
        for setting, part in parts:
            if part is None:
                continue
            part = cast(MultiHead, part)
            if part.plain_score != "multi_head" or part.biased:
                refusals.unless(False, setting, type(part).__name__, "multi_head")
                continue
            size, groups, heads = part.num_heads * part.head_size, part.num_key_value_heads, part.num_heads
            refusals.unless(size == model.width, f"{setting}.attention_size", size, f"width={model.width}")
            refusals.unless(groups == heads, f"{setting}.num_key_value_heads", groups, f"num_heads={heads}")
            refusals.unless(part.window is None, f"{setting}.window", part.window, "null")
            own = num_heads_of(layer)
            refusals.unless(heads == own, f"{setting}.num_heads", heads, f"the {own} of the self-attention")
    return refusals


def position_table(positions: Positions, length: int, width: int) -> Tensor:
    """Vectors of positions 0 to ``length`` - 1: (L, D), fewer if fewer are learned, zero without any."""
    if positions.kind == "learned":
        return positions.table.detach()[:length]
    if positions.kind in SINUSOIDS:
        return sinusoids(0, length, width, torch.device("cpu"), positions.kind)
    return torch.zeros(length, width)


@dataclass(frozen=True)
class Convertible:
    """The parts of a run that the files hold.

    Attributes:
        model: on the CPU, in evaluation mode and float32.
        tokenizers: of both sides.
        choice: the attention that is shown as the alignment.
        longest_source, longest_target: largest number of pieces, including end of sentence.
    """

    model: Transformer
    tokenizers: TokenizerPair
    choice: AlignmentChoice
    longest_source: int
    longest_target: int


def convert(library: Any, run: Convertible, directory: Path, quantization: str) -> None:
    """Write ``model.bin``, ``config.json`` and the vocabularies.

    The attention that a result returns is the mean of the run's chosen heads: they become the first ones of
    their layer, which changes no state but by rounding.

    Args:
        library: ctranslate2.
        run: of a model that :func:`refuse_attentions` does not refuse.
        directory: to be created, or empty.
        quantization: type of the stored weights.
    """

    class Kept(library.specs.model_spec.PyTorchVariable):
        """A tensor of the model, copied only while it is rounded, since the library rounds in place."""

        def numpy(self) -> Any:
            return super().numpy().copy()

    def keep(part: Any, name: str, value: Any) -> None:
        if isinstance(value, Tensor):
            setattr(part, name.rpartition("/")[2], Kept(value.detach().float()))

    specification = _specification(library, run)
    library.specs.model_spec.visit_spec(specification, keep)
    specification.validate()
    specification.optimize(quantization)
    directory.mkdir(exist_ok=True)
    specification.save(str(directory))


def _specification(library: Any, run: Convertible) -> Any:
    specs, model = library.specs, run.model
    feedforward = model.decoder[0].feedforward
    function = feedforward.kind.replace("swiglu", "swish").upper()  # as CTranslate2 calls it
    options = {
        "pre_norm": pre_norm_of(model),
        "activation": specs.common_spec.Activation[function],
        "ffn_glu": feedforward.kind == "swiglu",
        "rms_norm": norm_of(model) == "rms",
    }
    if model.source_positions.kind == "rotary":
        options |= {"rotary_dim": 0, "rotary_interleave": False}  # 0: all features of a head, in two halves
    encoder = specs.transformer_spec.TransformerEncoderSpec(
        len(model.encoder), num_heads_of(model.encoder[0]), **options
    )
    decoder = specs.transformer_spec.TransformerDecoderSpec(
        len(model.decoder),
        num_heads_of(model.decoder[0]),
        alignment_layer=run.choice.layer,
        alignment_heads=len(run.choice.heads),
        **options,
    )
    encoder.scale_embeddings = decoder.scale_embeddings = True
    encoder.embeddings[0].weight = model.source_embedding.weight
    decoder.embeddings.weight = model.target_embedding.weight
    _place(encoder, model.source_positions, run.longest_source, model.width)
    _place(decoder, model.target_positions, run.longest_target, model.width)
    decoder.projection.weight = model.output_weight
    if model.output_bias is not None:
        decoder.projection.bias = model.output_bias
    for side, layers, norm in (
        (encoder, model.encoder, model.encoder_norm),
        (decoder, model.decoder, model.decoder_norm),
    ):
        if pre_norm_of(model):
            _normalise(side.layer_norm, norm)
        for number, (specification, layer) in enumerate(zip(side.layer, layers, strict=True)):
            shown = side is decoder and number == run.choice.layer
            _layer(specification, layer, run.choice.heads if shown else ())
    found = specs.TransformerSpec(encoder, decoder)
    _describe(found, run)
    return found


def _describe(specification: Any, run: Convertible) -> None:
    """Set the vocabularies, special pieces, and the epsilon of the norms."""
    source, target = (
        tokenizer.pieces(range(len(tokenizer)))
        for tokenizer in (run.tokenizers.source, run.tokenizers.target)
    )
    specification.register_source_vocabulary(source)
    specification.register_target_vocabulary(target)
    config = specification.config
    config.unk_token, config.bos_token, config.eos_token = target[UNK], target[BOS], target[EOS]
    config.decoder_start_token, config.add_source_eos = target[BOS], True
    norm = run.model.decoder[0].self_norm
    assert isinstance(norm, nn.LayerNorm | nn.RMSNorm)
    config.layer_norm_epsilon = torch.finfo(torch.float32).eps if norm.eps is None else norm.eps


def _layer(specification: Any, layer: Layer, first_heads: Sequence[int]) -> None:
    own = layer.self_attention
    linears = [_joined([own.query_projection, own.key_value_projection]), _joined([own.output_projection])]
    _attend(specification.self_attention, linears, layer.self_norm)
    if layer.cross_attention is not None:
        cross = _with_first(cast(MultiHead, layer.cross_attention), first_heads)
        _attend(specification.attention, cross, layer.cross_norm)
    _feed(specification.ffn, layer.feedforward)
    _normalise(specification.ffn.layer_norm, layer.feedforward_norm)


Affine = tuple[Tensor, Tensor | None]  # weight (outputs, inputs) and bias (outputs,)


def _joined(parts: Sequence[nn.Linear]) -> Affine:
    """Several layers of one input as one."""
    bias = None if parts[0].bias is None else torch.cat([part.bias for part in parts])
    return torch.cat([part.weight for part in parts]), bias


def _with_first(attention: MultiHead, heads: Sequence[int]) -> list[Affine]:
    """Queries, keys with values, and output of an attention whose ``heads`` come first."""
    others = [head for head in range(attention.num_heads) if head not in heads]
    order = torch.tensor([*heads, *others])

    def reordered(tensor: Tensor, blocks: int) -> Tensor:
        return tensor.unflatten(0, (blocks, attention.num_heads, -1))[:, order].flatten(0, 2)

    found: list[Affine] = []
    for linear, blocks in ((attention.query_projection, 1), (attention.key_value_projection, 2)):
        bias = None if linear.bias is None else reordered(linear.bias, blocks)
        found.append((reordered(linear.weight, blocks), bias))
    output = attention.output_projection
    return [*found, (reordered(output.weight.T, 1).T, output.bias)]


def _attend(specification: Any, linears: Sequence[Affine], norm: nn.Module) -> None:
    for target, (weight, bias) in zip(specification.linear, linears, strict=True):
        target.weight = weight
        if bias is not None:
            target.bias = bias
    _normalise(specification.layer_norm, norm)


def _feed(specification: Any, feedforward: FeedForward) -> None:
    inner = [specification.linear_0]
    if feedforward.kind == "swiglu":  # the first half is the gate, which has the activation
        inner.append(specification.linear_0_noact)
    weights = feedforward.inner.weight.chunk(len(inner))
    biases = feedforward.inner.bias.chunk(len(inner))
    for target, weight, bias in zip(inner, weights, biases, strict=True):
        target.weight, target.bias = weight, bias
    specification.linear_1.weight = feedforward.outer.weight
    specification.linear_1.bias = feedforward.outer.bias


def _normalise(specification: Any, norm: nn.Module) -> None:
    specification.gamma = norm.weight
    if isinstance(norm, nn.LayerNorm):
        specification.beta = norm.bias


def _place(side: Any, positions: Positions, length: int, width: int) -> None:
    if hasattr(side, "position_encodings"):  # not in a decoder whose layers have rotary positions
        side.position_encodings.encodings = position_table(positions, length, width)
