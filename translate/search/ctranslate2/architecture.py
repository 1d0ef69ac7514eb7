"""The architecture of a Transformer, and the settings that another engine cannot represent."""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from translate.attention import GroupedQuery, MultiHead, ScaledDot
from translate.config.search import SearchConfig
from translate.errors import UserError
from translate.models import Seq2Seq, Transformer
from translate.models.embedding import Positions, sinusoids
from translate.models.transformer_layer import Layer

PLAIN = (MultiHead, ScaledDot, GroupedQuery)  # no window and no bias by distance

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


def refuse_search(search: SearchConfig, who: str) -> None:
    """Raise ``UserError`` for settings of the search that an export does not hold.

    The other engine would translate differently, and the proof would blame the weights.
    """
    refusals, plain = Refusals(who), SearchConfig()
    for name in SEARCH_SETTINGS:
        value, usual = getattr(search, name), getattr(plain, name)
        refusals.unless(value == usual, f"search.{name}", value, str(usual))
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
    """``layer`` or ``rms``."""
    return "layer" if isinstance(model.decoder[0].self_norm, nn.LayerNorm) else "rms"


def tie_of(model: Transformer) -> str:
    """``all``, ``target`` or ``none``."""
    if model.output_weight is not model.target_embedding.weight:
        return "none"
    return "all" if model.source_embedding is model.target_embedding else "target"


def num_heads_of(layer: Layer) -> int:
    """Number of heads of self-attention and cross-attention, equal after :func:`refuse_attentions`."""
    return layer.self_attention.num_heads


def refuse_attentions(model: Transformer, refusals: Refusals) -> None:
    """Refuse all but multi-head attention as wide as the model, with equal numbers of heads in a layer."""
    for layer in (*model.encoder, *model.decoder):
        parts = [("model.self_attention", layer.self_attention), ("model.attention", layer.cross_attention)]
        for setting, part in parts:
            if part is None:
                continue
            if type(part) not in PLAIN:
                refusals.unless(False, setting, type(part).__name__, "multi_head")
                continue
            assert isinstance(part, MultiHead)
            size, groups, heads = part.num_heads * part.head_size, part.num_key_value_heads, part.num_heads
            refusals.unless(size == model.width, f"{setting}.attention_size", size, f"width={model.width}")
            refusals.unless(groups == heads, f"{setting}.num_key_value_heads", groups, f"num_heads={heads}")
            refusals.unless(part.window is None, f"{setting}.window", part.window, "null")
            own = num_heads_of(layer)
            refusals.unless(heads == own, f"{setting}.num_heads", heads, f"the {own} of the self-attention")


def position_table(positions: Positions, length: int, width: int) -> Tensor:
    """Vectors of positions 0 to ``length`` - 1: (L, D), fewer if fewer are learned, zero without any."""
    if positions.kind == "learned":
        return positions.table.detach()[:length]
    if positions.kind == "sinusoidal":
        return sinusoids(0, length, width, torch.device("cpu"))
    return torch.zeros(length, width)
