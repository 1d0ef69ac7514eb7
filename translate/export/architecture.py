"""What a Transformer is made of, read off the model, and what another engine cannot represent of it."""

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
    """Settings that a format cannot represent, gathered so that the user sees all of them at once."""

    export_format: str
    found: list[str] = field(default_factory=list)

    def unless(self, fits: bool, setting: str, value: Any, expected: str) -> None:
        """Note ``setting`` unless it fits."""
        note = f"{setting}={value} (it has {expected})"
        if not fits and note not in self.found:
            self.found.append(note)

    def check(self) -> None:
        """Raise ``UserError`` if anything was noted."""
        if self.found:
            raise UserError(f"--format {self.export_format} cannot represent {', '.join(self.found)}")


def refuse_search(search: SearchConfig, export_format: str) -> None:
    """Raise ``UserError`` for settings of the search that the other engine is not told.

    Its translations would be others, and the proof would blame the weights.
    """
    refusals, plain = Refusals(export_format), SearchConfig()
    for name in SEARCH_SETTINGS:
        value, usual = getattr(search, name), getattr(plain, name)
        refusals.unless(value == usual, f"search.{name}", value, str(usual))
    refusals.check()


def transformer_of(model: Seq2Seq, export_format: str) -> Transformer:
    """The model itself, if it is a Transformer; raises ``UserError`` if it is not."""
    if not isinstance(model, Transformer):
        raise UserError(
            f"--format {export_format} cannot represent model={type(model).__name__}, only Transformers; "
            f"use --format onnx or bundle"
        )
    return model


def pre_norm_of(model: Transformer) -> bool:
    """Whether the norms come before the parts."""
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
    """Of the self-attention, and of the cross-attention where :func:`refuse_attentions` let it pass."""
    return layer.self_attention.num_heads


def refuse_attentions(model: Transformer, refusals: Refusals) -> None:
    """Refuse what is not multi-head attention as wide as the model, with equal heads in a layer."""
    for layer in (*model.encoder, *model.decoder):
        parts = [("model.self_attention", layer.self_attention), ("model.attention", layer.cross_attention)]
        for setting, each in parts:
            if each is None:
                continue
            if type(each) not in PLAIN:
                refusals.unless(False, setting, type(each).__name__, "multi_head")
                continue
            assert isinstance(each, MultiHead)
            size, groups = each.num_heads * each.head_size, each.num_key_value_heads
            refusals.unless(size == model.width, f"{setting}.attention_size", size, f"width={model.width}")
            wanted = f"num_heads={each.num_heads}"
            refusals.unless(groups == each.num_heads, f"{setting}.num_key_value_heads", groups, wanted)
            refusals.unless(each.window is None, f"{setting}.window", each.window, "null")
            own = num_heads_of(layer)
            wanted = f"the {own} of the self-attention"
            refusals.unless(each.num_heads == own, f"{setting}.num_heads", each.num_heads, wanted)


def position_table(positions: Positions, length: int, width: int) -> Tensor:
    """What is added for the places 0 to ``length`` - 1, as far as there are any: (L, D)."""
    if positions.kind == "learned":
        return positions.table.detach()[:length]
    if positions.kind == "sinusoidal":
        return sinusoids(0, length, width, torch.device("cpu"))
    return torch.zeros(length, width)
