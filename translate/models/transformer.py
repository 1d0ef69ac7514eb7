"""The Transformer (Vaswani et al. 2017), on fused attention everywhere."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import torch.nn.functional as F
from torch import Tensor, nn

from translate.attention import Attention, LayerCache, Memory, MultiHead, PathCache
from translate.models.dropout import Dropout
from translate.models.embedding import Positions, embeddings, rotate
from translate.models.seq2seq import DecodeState, Encoded, Seq2Seq, attend_beside, beams, new_output

NORMS: dict[str, Callable[[int], nn.Module]] = {"layer": nn.LayerNorm, "rms": nn.RMSNorm}
FEEDFORWARDS = ("relu", "gelu", "swiglu")


class FeedForward(nn.Module):
    """Two layers at each place: Vaswani et al. 2017, eq. 2; SwiGLU: Shazeer 2020, eq. 5."""

    def __init__(self, width: int, hidden_size: int, kind: str, dropout: float) -> None:
        super().__init__()
        if kind not in FEEDFORWARDS:
            raise ValueError(f"feedforward: expected one of {', '.join(FEEDFORWARDS)}, got {kind!r}")
        self.kind = kind
        self.inner = nn.Linear(width, hidden_size * (2 if kind == "swiglu" else 1))
        self.outer = nn.Linear(hidden_size, width)
        self.dropout = Dropout(dropout)
        for layer in (self.inner, self.outer):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, states: Tensor) -> Tensor:
        hidden = self.inner(states)
        if self.kind == "swiglu":
            gate, hidden = hidden.chunk(2, dim=-1)
            hidden = F.silu(gate) * hidden
        else:
            hidden = F.relu(hidden) if self.kind == "relu" else F.gelu(hidden)
        return self.outer(self.dropout(hidden))


class Layer(nn.Module):
    """Self-attention, cross-attention (in a decoder) and feed-forward, each with residual and norm.

    Args:
        width: D.
        self_attention: built by the caller, causal in a decoder.
        feedforward: built by the caller.
        cross_attention: ``None`` in an encoder.
        norm: key of ``NORMS``.
        pre_norm: norm before each part (Xiong et al. 2020) instead of after the residual.
        rotary: turn queries and keys of the self-attention by their places.
        dropout: on what each part adds.
    """

    def __init__(
        self,
        width: int,
        self_attention: Attention,
        feedforward: FeedForward,
        cross_attention: Attention | None,
        *,
        norm: str,
        pre_norm: bool,
        rotary: bool,
        dropout: float,
    ) -> None:
        super().__init__()
        if norm not in NORMS:
            raise ValueError(f"norm: expected one of {', '.join(NORMS)}, got {norm!r}")
        self.pre_norm = pre_norm
        if not isinstance(self_attention, MultiHead):
            raise ValueError(
                f"self_attention: {type(self_attention).__name__} cannot attend to its own sequence; "
                f"it must be a translate.attention.MultiHead or derive from it"
            )
        self.turn = rotate if rotary else None
        self.self_attention = self_attention
        self.cross_attention = cross_attention
        self.feedforward = feedforward
        self.self_norm = NORMS[norm](width)
        self.feedforward_norm = NORMS[norm](width)
        if cross_attention is not None:
            self.cross_norm = NORMS[norm](width)
            # Contexts that are as wide as the keys need nothing more; others are brought to the width.
            context_size = cross_attention.context_size
            self.cross_output = nn.Identity() if context_size == width else nn.Linear(context_size, width)
        self.dropout = Dropout(dropout)

    def forward(
        self,
        states: Tensor,
        mask: Tensor | None,
        memory: Memory | None = None,
        weights: list[Tensor] | None = None,
    ) -> Tensor:
        """All places at once: (B, L, D) and mask (B, L) bool, True = visible.

        A list of ``weights`` takes the explicit path, and is given those of the cross-attention (B, H, T, S).
        """
        states = self._add(states, self.self_norm, lambda x: self._attend_self(x, mask))
        if memory is not None:
            states = self._add(states, self.cross_norm, lambda x: self._attend_source(x, memory, weights))
        return self._add(states, self.feedforward_norm, self.feedforward)

    @property
    def source_attention(self) -> Attention:
        """The cross-attention of a decoder's layer."""
        assert self.cross_attention is not None
        return self.cross_attention

    def step(
        self,
        states: Tensor,
        cache: Tensor | LayerCache,
        history: Any,
        position: int,
        memory: Memory,
        encoded: Encoded,
        *,
        need_weights: bool = False,
    ) -> tuple[Tensor, Tensor | LayerCache, Any, Tensor | None]:
        """One place of each hypothesis: (N, 1, D), both attentions' caches, and weights (B, H, W, S)."""
        cross = self.source_attention
        weights: Tensor | None = None

        def attend_self(normed: Tensor) -> Tensor:
            nonlocal cache
            context, cache = self.self_attention.step_self(normed, cache, position, self.turn)
            return context

        def attend_source(normed: Tensor) -> Tensor:
            nonlocal history, weights
            query = beams(normed.squeeze(1), encoded)  # (B, W, D)
            if need_weights:
                context, weights = attend_beside(cross, query, memory, history)
            else:
                context, weights = cross(query, memory, need_weights=cross.stateful, state=history)
            history = cross.advance(history, weights)
            return self.cross_output(context).flatten(0, 1).unsqueeze(1)  # (N, 1, D)

        states = self._add(states, self.self_norm, attend_self)
        states = self._add(states, self.cross_norm, attend_source)
        return self._add(states, self.feedforward_norm, self.feedforward), cache, history, weights

    def source_weights(self, states: Tensor, mask: Tensor | None, memory: Memory) -> Tensor:
        """Cross-attention weights (B, H, T, S) that :meth:`forward` would use for ``states``."""
        states = self._add(states, self.self_norm, lambda x: self._attend_self(x, mask))
        query = self.cross_norm(states) if self.pre_norm else states
        weights = self.source_attention(query, memory, need_weights=True)[1]
        return weights.float()

    def _attend_self(self, states: Tensor, mask: Tensor | None) -> Tensor:
        return self.self_attention.attend_self(states, mask, self.turn)

    def _attend_source(self, states: Tensor, memory: Memory, weights: list[Tensor] | None = None) -> Tensor:
        context, found = self.source_attention(states, memory, need_weights=weights is not None)
        if weights is not None:
            weights.append(found)
        return self.cross_output(context)

    def _add(self, states: Tensor, norm: nn.Module, part: Callable[[Tensor], Tensor]) -> Tensor:
        if self.pre_norm:
            return states + self.dropout(part(norm(states)))
        return norm(states + self.dropout(part(states)))


class Transformer(Seq2Seq):
    """Encoder and decoder of self-attention layers.

    Args:
        source_vocabulary: V of the source.
        target_vocabulary: V of the target.
        attention: builds a cross-attention from ``(query_size, key_size)``.
        width: D.
        feedforward_size: width inside the feed-forward part.
        num_heads: of the self-attentions, where ``self_attention`` does not say.
        encoder_layers: number of layers.
        decoder_layers: number of layers.
        dropout: on embeddings and on what each part adds.
        feedforward_dropout: inside the feed-forward part.
        pre_norm: see :class:`Layer`.
        norm: ``layer`` or ``rms``.
        positions: ``sinusoidal``, ``learned``, ``rotary`` or ``none``.
        max_length: places that learned positions have.
        feedforward: ``relu``, ``gelu`` or ``swiglu``.
        tie: ``all`` (one matrix for both embeddings and the output), ``target`` or ``none``.
        self_attention: builds a self-attention from ``(query_size, key_size)`` and ``causal``, a kind of
            ``MultiHead``, which it is by default.
    """

    def __init__(
        self,
        source_vocabulary: int,
        target_vocabulary: int,
        attention: Callable[[int, int], Attention],
        *,
        width: int = 256,
        feedforward_size: int = 1024,
        num_heads: int = 4,
        encoder_layers: int = 3,
        decoder_layers: int = 3,
        dropout: float = 0.1,
        feedforward_dropout: float = 0.0,
        pre_norm: bool = True,
        norm: str = "layer",
        positions: str = "sinusoidal",
        max_length: int = 1024,
        feedforward: str = "relu",
        tie: str = "all",
        self_attention: Callable[..., Attention] | None = None,
    ) -> None:
        super().__init__()
        if positions == "rotary" and width // num_heads % 2:
            raise ValueError(f"positions: rotary turns pairs of features, got heads of {width // num_heads}")
        self.width = width
        self.max_target_length = max_length if positions == "learned" else None
        self.source_embedding, self.target_embedding = embeddings(
            source_vocabulary, target_vocabulary, width, tie=tie
        )
        self.output_weight = new_output(
            target_vocabulary, width, None if tie == "none" else self.target_embedding
        )
        self.output_bias = None
        self.source_positions = Positions(positions, width, max_length)
        self.target_positions = Positions(positions, width, max_length)
        self.dropout = Dropout(dropout)

        own = self_attention or partial(MultiHead, num_heads=num_heads)

        def layer(*, decoder: bool) -> Layer:
            feedforward_part = FeedForward(width, feedforward_size, feedforward, feedforward_dropout)
            cross_attention = attention(width, width) if decoder else None
            return Layer(
                width,
                own(width, width, causal=decoder),
                feedforward_part,
                cross_attention,
                norm=norm,
                pre_norm=pre_norm,
                rotary=positions == "rotary",
                dropout=dropout,
            )

        self.encoder = cast(
            "Sequence[Layer]", nn.ModuleList(layer(decoder=False) for _ in range(encoder_layers))
        )
        self.decoder = cast(
            "Sequence[Layer]", nn.ModuleList(layer(decoder=True) for _ in range(decoder_layers))
        )
        self.encoder_norm = NORMS[norm](width) if pre_norm else nn.Identity()
        self.decoder_norm = NORMS[norm](width) if pre_norm else nn.Identity()
        self.num_attention_layers = decoder_layers
        self.num_attention_heads = self.decoder[0].source_attention.num_heads

    def shards(self) -> Sequence[tuple[nn.Module, tuple[str, ...]]]:
        cross = [(layer.source_attention, ("prepare",)) for layer in self.decoder]
        return [*cross, *((layer, ()) for layer in (*self.encoder, *self.decoder))]

    def embed_source(self, source: Tensor) -> Tensor:
        return self.source_embedding(source) * self.width**0.5

    def encode_embedded(self, embedded: Tensor, source_mask: Tensor | None) -> Encoded:
        states = self.dropout(self.source_positions(embedded, 0))
        for layer in self.encoder:
            states = layer(states, source_mask)
        states = self.encoder_norm(states)
        memories = tuple(layer.source_attention.prepare(states, source_mask) for layer in self.decoder)
        return Encoded(memories, source_mask)

    def start(self, encoded: Encoded, num_hypotheses: int = 1, *, in_place: bool = False) -> DecodeState:
        like = encoded.memories[0].values
        histories = tuple(
            layer.source_attention.initial_state(memory, num_hypotheses)
            for layer, memory in zip(self.decoder, encoded.memories, strict=True)
        )
        if in_place and num_hypotheses == 1:
            first = self.decoder[0].self_attention
            paths = first.start_paths(len(self.decoder), encoded.batch_size, like)
            if paths is not None:
                return DecodeState(0, (paths,), histories)
        rows = encoded.batch_size * num_hypotheses
        caches = tuple(layer.self_attention.start_self(rows, like) for layer in self.decoder)
        return DecodeState(0, caches, histories)

    def step(self, ids: Tensor, state: DecodeState, encoded: Encoded) -> tuple[Tensor, DecodeState]:
        return self._step(ids, state, encoded)[:2]

    def step_with_weights(
        self, ids: Tensor, state: DecodeState, encoded: Encoded, layer: int
    ) -> tuple[Tensor, DecodeState, Tensor]:
        self.check_layers([layer])
        hidden, state, weights = self._step(ids, state, encoded, layer)
        assert weights is not None
        return hidden, state, weights

    def _step(
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

    def read_target(self, encoded: Encoded, target_in: Tensor) -> Tensor:
        return self._force(encoded, target_in, {})

    def source_attention(self, layer: int) -> Attention:
        self.check_layers([layer])
        return self.decoder[layer].source_attention

    def forward_with_weights(
        self, source: Tensor, source_mask: Tensor | None, target_in: Tensor, layer: int
    ) -> tuple[Tensor, Tensor]:
        self.check_layers([layer])
        weights: list[Tensor] = []
        hidden = self._force(self.encode(source, source_mask), target_in, {layer: weights})
        return hidden, weights[0]

    def _force(self, encoded: Encoded, target_in: Tensor, weights: dict[int, list[Tensor]]) -> Tensor:
        states = self._embed_target(target_in, 0)
        # Padding stands at the end, where causality hides it already; its own rows are never read.
        for index, (layer, memory) in enumerate(zip(self.decoder, encoded.memories, strict=True)):
            states = layer(states, None, memory, weights.get(index))
        return self.decoder_norm(states)

    def read_weights(self, encoded: Encoded, target_in: Tensor, layers: Sequence[int]) -> list[Tensor]:
        self.check_layers(layers)
        states = self._embed_target(target_in, 0)
        found = {}
        for index in range(max(layers) + 1):
            layer, memory = self.decoder[index], encoded.memories[index]
            if index in layers:
                found[index] = layer.source_weights(states, None, memory)
            if index < max(layers):
                states = layer(states, None, memory)
        return [found[layer] for layer in layers]

    def _embed_target(self, ids: Tensor, start: int) -> Tensor:
        return self.dropout(self.target_positions(self.target_embedding(ids) * self.width**0.5, start))
