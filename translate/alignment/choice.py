"""The choice of the attention that is shown as the alignment."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from translate.alignment.alignment import check_threshold
from translate.config.names import shorten
from translate.errors import UserError
from translate.models.seq2seq import Seq2Seq


@dataclass(frozen=True)
class AlignmentChoice:
    """The attention that is shown as the alignment.

    Attributes:
        layer: index of a layer with attention to the source.
        heads: indexes of the heads that are averaged.
        shift: 0 takes the row that predicts a target piece, 1 the row whose decoder input it is.
        threshold: weights between words of at least this are links; 0 links each target word to the source
            word with the largest weight.
    Raises:
        UserError: for a value out of range, since values may come from a run's files.
    """

    layer: int
    heads: tuple[int, ...]
    shift: int
    threshold: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "heads", tuple(self.heads))
        for name, numbers in (("layer", (self.layer,)), ("heads", self.heads)):
            if not numbers or any(not isinstance(n, int) or isinstance(n, bool) or n < 0 for n in numbers):
                got = shorten(repr(getattr(self, name)))
                raise UserError(f"alignment {name}: {got} must be one or more numbers from 0")
        if len(set(self.heads)) != len(self.heads):
            raise UserError(f"alignment heads: {shorten(self.heads)} must name each head once")
        if isinstance(self.shift, bool) or self.shift not in (0, 1):
            raise UserError(f"alignment shift: {shorten(repr(self.shift))} must be 0 or 1")
        check_threshold(self.threshold)

    @property
    def layer_and_heads(self) -> str:
        """Layer and heads in words."""
        return f"layer {self.layer}, head{'s' * (len(self.heads) > 1)} {', '.join(map(str, self.heads))}"

    @property
    def links_from(self) -> str:
        """The smallest weight that is a link, in words."""
        return f"{self.threshold:g}" if self.threshold else "the largest"

    def __str__(self) -> str:
        return f"{self.layer_and_heads}, shift {self.shift}, links from {self.links_from}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "layer": self.layer,
            "heads": list(self.heads),
            "shift": self.shift,
            "threshold": self.threshold,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "AlignmentChoice":
        """Inverse of `to_dict`; raises UserError if a key is missing, unknown, or has a wrong value."""
        keys = {"layer", "heads", "shift"}  # older runs have no threshold
        if not isinstance(values, Mapping) or set(values) - {"threshold"} != keys:
            raise UserError(
                f"alignment choice: got {shorten(repr(values))}, expected the keys layer, heads, shift and "
                "threshold"
            )
        if not isinstance(values["heads"], list | tuple):
            raise UserError(f"alignment heads: {shorten(repr(values['heads']))} must be a list of numbers")
        return cls(values["layer"], tuple(values["heads"]), values["shift"], values.get("threshold", 0.0))

    def check(self, model: Seq2Seq) -> None:
        """Raise UserError if the model has no such layer or head."""
        if self.layer >= model.num_attention_layers:
            raise UserError(
                f"alignment layer {self.layer} does not exist: "
                f"the model has {model.num_attention_layers}, counted from 0"
            )
        if max(self.heads) >= model.num_attention_heads:
            raise UserError(
                f"alignment head {max(self.heads)} does not exist: "
                f"the model has {model.num_attention_heads}, counted from 0"
            )
