"""The Transformer (Vaswani et al. 2017), on fused attention everywhere."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

import torch
from torch import Tensor, nn

from translate.attention import Attention, LayerCache, MultiHead, PathCache
from translate.attention.kernels.dropout import Dropout
from translate.attention.memory import WHOLE, SourceParts
from translate.config.files import YAML, from_file
from translate.config.option_groups import (
    NumHeads,
    NumLayers,
    NumPositions,
    Width,
    flat_options,
    option_group,
)
from translate.models.embedding import PositionKind, Positions, Tie, embeddings
from translate.models.encoders import Encoder, EncoderSizes
from translate.models.seq2seq import DecodeState, Encoded, Seq2Seq, new_output
from translate.models.sizes import check_kind
from translate.models.transformer_layer import NORMS, FeedForward, Layer, LayerOptions


@option_group
@dataclass(frozen=True)
@from_file("model/transformer.yaml")
class TransformerSizes:
    """The widths and depths of a Transformer.

    Attributes:
        width: D, of embeddings and states.
        num_heads: of the self-attentions, unless ``self_attention`` says otherwise.
        encoder_layers: number of layers.
        decoder_layers: number of layers.
    """

    width: Width = YAML
    num_heads: NumHeads = YAML
    encoder_layers: NumLayers = YAML
    decoder_layers: NumLayers = YAML


@option_group
@dataclass(frozen=True)
@from_file("model/transformer.yaml")
class EmbeddingOptions:
    """The options of a Transformer's embeddings.

    Attributes:
        positions: ``sinusoidal``, ``marian``, ``learned``, ``rotary`` or ``none``.
        max_length: number of learned positions.
        tie: ``all`` (one matrix for both embeddings and the output), ``target`` or ``none``.
        output_bias: whether the scores of the pieces have a bias.
    """

    positions: PositionKind = YAML
    max_length: NumPositions = YAML
    tie: Tie = YAML
    output_bias: bool = YAML


SIZES, LAYER, EMBEDDING = TransformerSizes(), LayerOptions(), EmbeddingOptions()


class Transformer(Seq2Seq):
    """Encoder and decoder of self-attention layers.

    Args:
        source_vocabulary: V of the source.
        target_vocabulary: V of the target.
        attention: builds a cross-attention from ``(query_size, key_size)``.
        sizes: see :class:`TransformerSizes`.
        layer: see :class:`LayerOptions`; dropout is on the embeddings, too.
        embedding: see :class:`EmbeddingOptions`.
        self_attention: builds a self-attention from ``(query_size, key_size)`` and ``causal``, a
            ``MultiHead`` or a class derived from it; a ``MultiHead`` if ``None``.
        encoder: builds another encoder in place of the layers of self-attention, see ``encoders.py``; it
            gives the source its positions, too.
    """

    @flat_options
    def __init__(
        self,
        source_vocabulary: int,
        target_vocabulary: int,
        attention: Callable[[int, int], Attention],
        *,
        sizes: TransformerSizes = SIZES,
        layer: LayerOptions = LAYER,
        embedding: EmbeddingOptions = EMBEDDING,
        self_attention: Callable[..., Attention] | None = None,
        encoder: Callable[..., Encoder] | None = None,
    ) -> None:
        super().__init__()
        width, positions, max_length = sizes.width, embedding.positions, embedding.max_length
        if width % sizes.num_heads:
            raise ValueError(f"num_heads: expected a divisor of width={width}, got {sizes.num_heads}")
        if positions == "rotary" and width // sizes.num_heads % 2:
            heads = f"heads of {width // sizes.num_heads}"
            raise ValueError(f"positions: rotary turns pairs of features, got {heads}")
        self.width = width
        self.max_target_length = max_length if positions == "learned" else None
        self.source_embedding, self.target_embedding = embeddings(
            source_vocabulary, target_vocabulary, width, tie=embedding.tie
        )
        self.output_weight = new_output(
            target_vocabulary, width, None if embedding.tie == "none" else self.target_embedding
        )
        self.output_bias = nn.Parameter(torch.zeros(target_vocabulary)) if embedding.output_bias else None
        self.source_positions = Positions("none" if encoder else positions, width, max_length)
        self.target_positions = Positions(positions, width, max_length)
        self.dropout = Dropout(layer.dropout)
        own = self_attention or partial(MultiHead, num_heads=sizes.num_heads)

        def new_layer(*, decoder: bool) -> Layer:
            feedforward = FeedForward(width, layer)
            cross_attention = attention(width, width) if decoder else None
            if cross_attention is not None:
                check_kind(cross_attention, Attention, "model.attention")
            self_attention = check_kind(own(width, width, causal=decoder), Attention, "model.self_attention")
            return Layer(
                width, self_attention, feedforward, cross_attention, layer, rotary=positions == "rotary"
            )

        own_layers = 0 if encoder else sizes.encoder_layers
        self.encoder = cast(
            "Sequence[Layer]", nn.ModuleList(new_layer(decoder=False) for _ in range(own_layers))
        )
        self.decoder = cast(
            "Sequence[Layer]", nn.ModuleList(new_layer(decoder=True) for _ in range(sizes.decoder_layers))
        )
        self.other_encoder = None if encoder is None else other_encoder(encoder, sizes, layer)
        self.reads_pictures = self.other_encoder is not None and self.other_encoder.reads_pictures
        self.encoder_norm = NORMS[layer.norm](width) if layer.pre_norm and not encoder else nn.Identity()
        self.decoder_norm = NORMS[layer.norm](width) if layer.pre_norm else nn.Identity()
        self.num_attention_layers = sizes.decoder_layers
        self.num_attention_heads = self.decoder[0].source_attention.num_heads
        own = self.decoder[0].self_attention
        self.cached_numbers = 2 * sizes.decoder_layers * own.num_key_value_heads * own.head_size

    def shards(self) -> Sequence[tuple[nn.Module, tuple[str, ...]]]:
        cross = [(layer.source_attention, ("prepare", "prepare_parts")) for layer in self.decoder]
        return [*cross, *((layer, ()) for layer in (*self.encoder, *self.decoder))]

    def embed_source(self, source: Tensor) -> Tensor:
        if self.other_encoder is not None:
            return self.other_encoder.embed(source, self._embed_pieces)
        return self._embed_pieces(source)

    def _embed_pieces(self, ids: Tensor) -> Tensor:
        return self.source_embedding(ids) * self.width**0.5

    def encode_embedded(
        self, embedded: Tensor, source_mask: Tensor | None, parts: SourceParts = WHOLE
    ) -> Encoded:
        states = self.dropout(self.source_positions(embedded, 0))
        for layer in self.encoder:
            states = layer(states, source_mask)
        if self.other_encoder is not None:
            states, _ = self.other_encoder(states, source_mask)
        states = self.encoder_norm(states)
        memories = tuple(
            layer.source_attention.prepare_parts(states, source_mask, parts) for layer in self.decoder
        )
        return Encoded(memories, source_mask)

    def start(self, encoded: Encoded, *, in_place: bool = False) -> DecodeState:
        like = encoded.memories[0].values
        histories = tuple(
            layer.source_attention.initial_state(memory)
            for layer, memory in zip(self.decoder, encoded.memories, strict=True)
        )
        if in_place:
            first = self.decoder[0].self_attention
            paths = first.start_paths(len(self.decoder), encoded.batch_size, like)
            if paths is not None:
                return DecodeState(0, (paths,), histories)
        caches = tuple(layer.self_attention.start_self(encoded.batch_size, like) for layer in self.decoder)
        return DecodeState(0, caches, histories)

    def advance(
        self, ids: Tensor, state: DecodeState, encoded: Encoded, shown: int | None = None
    ) -> tuple[Tensor, DecodeState, Tensor | None]:
        position, held = state.position, state.tensors
        paths = held[0] if isinstance(held[0], PathCache) else None
        if paths is not None:
            paths.extend()
            held = tuple(LayerCache(paths, index) for index in range(len(self.decoder)))
        states = self._embed_target(ids.unsqueeze(1), position)
        caches, histories, found = [], [], None
        layers = zip(self.decoder, held, state.attention, encoded.memories, strict=True)
        for index, (layer, cache, history, memory) in enumerate(layers):
            states, cache, history, weights = layer.step(
                states, cache, history, position, memory, encoded, need_weights=index == shown
            )
            found = weights if index == shown else found
            caches.append(cache)
            histories.append(history)
        kept = state.tensors if paths is not None else tuple(caches)
        return self.decoder_norm(states).squeeze(1), DecodeState(position + 1, kept, tuple(histories)), found

    def source_attention(self, layer: int) -> Attention:
        return self.decoder[layer].source_attention

    def force(
        self, encoded: Encoded, target_in: Tensor, shown: int | None = None
    ) -> tuple[Tensor, Tensor | None]:
        states, weights = self._embed_target(target_in, 0), list[Tensor]()
        # Padding stands at the end, where causality hides it; nothing reads its rows.
        for index, (layer, memory) in enumerate(zip(self.decoder, encoded.memories, strict=True)):
            states = layer(states, None, memory, weights if index == shown else None)
        return self.decoder_norm(states), weights[0] if weights else None

    def read_weights(self, encoded: Encoded, target_in: Tensor, layers: Sequence[int]) -> list[Tensor]:
        states = self._embed_target(target_in, 0)
        found = {}
        for index in range(max(layers) + 1):
            layer, memory = self.decoder[index], encoded.memories[index]
            if index in layers:
                found[index] = layer.source_weights(states, memory)
            if index < max(layers):
                states = layer(states, None, memory)
        return [found[layer] for layer in layers]

    def _embed_target(self, ids: Tensor, start: int | Tensor) -> Tensor:
        return self.dropout(self.target_positions(self.target_embedding(ids) * self.width**0.5, start))


def other_encoder(build: Callable[..., Encoder], sizes: TransformerSizes, layer: LayerOptions) -> Encoder:
    """The encoder that replaces a Transformer's own; raises ``ValueError`` for one that does not fit."""
    width = sizes.width
    widths = EncoderSizes(width, width // 2, sizes.encoder_layers, layer.dropout, "gru")
    encoder = check_kind(build(widths), Encoder, "model.encoder")
    if encoder.output_size != width:
        raise ValueError(f"encoder: expected states {width} wide, got {encoder.output_size}")
    if encoder.num_summary_layers:
        raise ValueError("encoder.summary_layers: a Transformer's decoder starts from no summary; expected 0")
    return encoder
