"""A layer of the Transformer: attention within a side, attention to the source, feed-forward part."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, cast

import torch.nn.functional as F
from torch import Tensor, nn

from translate.attention import Attention, LayerCache, Memory, MultiHead
from translate.attention.kernels.dropout import Dropout
from translate.config.files import YAML, from_file
from translate.config.option_groups import Width, option_group
from translate.models.embedding import rotate
from translate.models.seq2seq import Encoded, attend_beside, beams

NORMS: dict[str, Callable[[int], nn.Module]] = {"layer": nn.LayerNorm, "rms": nn.RMSNorm}
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu, "swish": F.silu}


@option_group
@dataclass(frozen=True)
@from_file("model/transformer.yaml")
class LayerOptions:
    """The options of a Transformer's layers.

    Attributes:
        feedforward_size: width inside the feed-forward part.
        feedforward: ``relu``, ``gelu``, ``swish`` or ``swiglu``.
        dropout: probability, on what each part adds.
        feedforward_dropout: probability, inside the feed-forward part.
        norm: ``layer`` or ``rms``.
        pre_norm: norm before each part (Xiong et al. 2020) instead of after the residual.
    """

    feedforward_size: Width = YAML
    feedforward: Literal["relu", "gelu", "swish", "swiglu"] = YAML
    dropout: float = YAML
    feedforward_dropout: float = YAML
    norm: Literal["layer", "rms"] = YAML
    pre_norm: bool = YAML


class FeedForward(nn.Module):
    """Two layers at each position: Vaswani et al. 2017, eq. 2; SwiGLU: Shazeer 2020, eq. 5."""

    def __init__(self, width: int, options: LayerOptions) -> None:
        super().__init__()
        kind, hidden_size = options.feedforward, options.feedforward_size
        self.kind = kind
        self.inner = nn.Linear(width, hidden_size * (2 if kind == "swiglu" else 1))
        self.outer = nn.Linear(hidden_size, width)
        self.dropout = Dropout(options.feedforward_dropout)
        for layer in (self.inner, self.outer):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, states: Tensor) -> Tensor:
        hidden = self.inner(states)
        if self.kind == "swiglu":
            gate, hidden = hidden.chunk(2, dim=-1)
            hidden = F.silu(gate) * hidden
        else:
            hidden = ACTIVATIONS[self.kind](hidden)
        return self.outer(self.dropout(hidden))


class Layer(nn.Module):
    """Self-attention, cross-attention (in a decoder) and feed-forward, each with residual and norm.

    Args:
        width: D.
        self_attention: built by the caller, causal in a decoder.
        feedforward: built by the caller.
        cross_attention: ``None`` in an encoder.
        options: see :class:`LayerOptions`.
        rotary: turn queries and keys of the self-attention by their positions.
    """

    def __init__(
        self,
        width: int,
        self_attention: Attention,
        feedforward: FeedForward,
        cross_attention: Attention | None,
        options: LayerOptions,
        *,
        rotary: bool,
    ) -> None:
        super().__init__()
        norm = NORMS[options.norm]
        self.pre_norm = options.pre_norm
        if not self_attention.attends_self:
            raise ValueError(
                f"self_attention: {type(self_attention).__name__} cannot attend to its own sequence; "
                f"it must be a translate.attention.MultiHead or derive from it"
            )
        self.turn = rotate if rotary else None
        self.self_attention = cast(MultiHead, self_attention)
        self.cross_attention = cross_attention
        self.feedforward = feedforward
        self.self_norm = norm(width)
        self.feedforward_norm = norm(width)
        if cross_attention is not None:
            self.cross_norm = norm(width)
            context_size = cross_attention.context_size
            self.cross_output = nn.Identity() if context_size == width else nn.Linear(context_size, width)
        self.dropout = Dropout(options.dropout)

    def forward(
        self,
        states: Tensor,
        mask: Tensor | None,
        memory: Memory | None = None,
        weights: list[Tensor] | None = None,
    ) -> Tensor:
        """All positions at once: (B, L, D) and mask (B, L) bool, True = visible.

        With a list ``weights``, the cross-attention takes the explicit path and appends its own (B, H, T, S).
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
        position: int | Tensor,
        memory: Memory,
        encoded: Encoded,
        *,
        need_weights: bool = False,
    ) -> tuple[Tensor, Tensor | LayerCache, Any, Tensor | None]:
        """One position of each hypothesis: (N, 1, D), both attentions' caches, and weights (B, H, W, S)."""
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

    def source_weights(self, states: Tensor, memory: Memory) -> Tensor:
        """The cross-attention weights (B, H, T, S) of :meth:`forward` for ``states``."""
        states = self._add(states, self.self_norm, lambda x: self._attend_self(x, None))
        query = self.cross_norm(states) if self.pre_norm else states
        weights = self.source_attention(query, memory, need_weights=True)[1]
        return weights.float()

    def _attend_self(self, states: Tensor, mask: Tensor | None) -> Tensor:
        return self.self_attention.attend_self(states, mask, self.turn)

    def _attend_source(self, states: Tensor, memory: Memory, weights: list[Tensor] | None) -> Tensor:
        context, found = self.source_attention(states, memory, need_weights=weights is not None)
        if weights is not None:
            weights.append(found)
        return self.cross_output(context)

    def _add(self, states: Tensor, norm: nn.Module, part: Callable[[Tensor], Tensor]) -> Tensor:
        if self.pre_norm:
            return states + self.dropout(part(norm(states)))
        return norm(states + self.dropout(part(states)))
