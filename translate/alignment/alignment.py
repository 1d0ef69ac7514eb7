"""The soft alignment of a pair or of a document, and the choice of the attention that is shown as it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import numpy as np

from translate.config.declare import Count, Fraction, Shift, convert
from translate.config.names import shorten
from translate.corpora.images.patches import Image
from translate.errors import UserError
from translate.figures.matrix import PRINT, Style
from translate.links.links import Gold, Links, format_pharaoh
from translate.models.seq2seq import Seq2Seq

THIS = "this sentence"
_OF_CHOICE: dict[str, Any] = {
    "layer": Count,
    "heads": tuple[Count, ...],
    "shift": Shift,
    "threshold": Fraction,
}


@dataclass(frozen=True, eq=False)
class Alignment:
    """The weights with which target words looked at source words.

    Attributes:
        weights: (T words, S words) float32, read-only; a row sums to 1, or is zero.
        source_offsets, target_offsets: (start, end) of each word in its text; empty if there is no text.
        method: a caption for the weights, such as `attention, layer 2, head 1`; empty if unknown.
        threshold: the smallest weight that is a link, see `links`.
        picture: the picture that was read; its patches, row by row, are the first source words.
    Raises:
        ValueError: if the weights do not have a row for every target word and a column for every source word,
            or are negative or not finite, or if the numbers of offsets and words differ.
        UserError: if the threshold does not lie in [0, 1].
    """

    source_words: list[str]
    target_words: list[str]
    weights: np.ndarray
    source_offsets: Sequence[tuple[int, int]] = ()
    target_offsets: Sequence[tuple[int, int]] = ()
    method: str = ""
    threshold: float = 0.0
    picture: Image | None = None

    def __post_init__(self) -> None:
        check_threshold(self.threshold)
        weights = np.array(self.weights, dtype=np.float32)
        expected = (len(self.target_words), len(self.source_words))
        if weights.shape != expected:
            raise ValueError(
                f"weights have shape {weights.shape}, expected (target words, source words) = {expected}"
            )
        if not np.isfinite(weights).all() or (weights < 0).any():
            raise ValueError("weights must be finite and not negative")
        for side in ("source", "target"):
            offsets, words = getattr(self, f"{side}_offsets"), getattr(self, f"{side}_words")
            if offsets and len(offsets) != len(words):
                raise ValueError(f"{side}_offsets: {len(offsets)} for {len(words)} words")
        weights.flags.writeable = False
        object.__setattr__(self, "weights", weights)

    def links(self, threshold: float | None = None) -> Links:
        """Hard links (source index, target index).

        A threshold above 0 links a target word to all source words with at least that weight, which may be
        none. With 0 it is linked to the source word with the largest weight, the first of equals. A zero row
        gives no link.

        Args:
            threshold: used instead of the alignment's own.
        Raises:
            UserError: if the threshold does not lie in [0, 1].
        """
        threshold = self.threshold if threshold is None else threshold
        check_threshold(threshold)
        if threshold > 0:
            targets, sources = np.nonzero(self.weights >= threshold)
        elif self.weights.size == 0:
            return frozenset()
        else:
            targets = np.flatnonzero(self.weights.any(axis=1))
            sources = self.weights[targets].argmax(axis=1)
        return frozenset(zip(sources.tolist(), targets.tolist()))

    def pharaoh(self, threshold: float | None = None, *, weights: bool = False) -> str:
        """The links as `0-0 1-2 2-1`, sorted by source index; with weights as `0-0:0.9412 1-2:0.8801`."""
        links = self.links(threshold)
        if not weights:
            return format_pharaoh(links)
        return " ".join(f"{s}-{t}:{self.weights[t, s]:.4f}" for s, t in sorted(links))

    def to_dict(self) -> dict[str, Any]:
        """The alignment for JSON, with weights rounded to 6 digits and Pharaoh links.

        Offsets, method and threshold are left out where they are empty; ``grid`` is the number of rows and
        columns of patches, which are the first source words.
        """
        offsets = {
            f"{side}_offsets": [list(span) for span in getattr(self, f"{side}_offsets")]
            for side in ("source", "target")
            if getattr(self, f"{side}_offsets")
        }
        return {
            "source_words": list(self.source_words),
            "target_words": list(self.target_words),
            **offsets,
            **({"method": self.method} if self.method else {}),
            **({"threshold": self.threshold} if self.threshold else {}),
            **({"grid": [self.picture.rows, self.picture.columns]} if self.picture else {}),
            "weights": [[round(weight, 6) for weight in row] for row in self.weights.tolist()],
            "links": self.pharaoh(),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Alignment":
        """Inverse of `to_dict`; raises UserError if a key is missing or the parts do not fit."""
        try:
            source, target = (
                [tuple(span) for span in values.get(f"{side}_offsets", ())] for side in ("source", "target")
            )
            words = values["source_words"], values["target_words"]
            method, threshold = str(values.get("method", "")), float(values.get("threshold", 0.0))
            shape = len(words[1]), len(words[0])  # which an empty list lacks
            weights = np.array(values["weights"], dtype=np.float32).reshape(shape)
            return cls(*words, weights, source, target, method, threshold)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UserError(f"not an alignment: {error}") from error

    def heatmap(
        self,
        path: str | Path,
        *,
        title: str | None = None,
        values: bool = False,
        gold: Gold | None = None,
        style: Style = PRINT,
    ) -> Path:
        """Draw the weights to a png, pdf or svg file, or write an html page.

        Args:
            path: the file; its extension chooses the format.
            title, values, gold, style: as in `heatmap.draw`; a page takes only title and gold. With a
                picture, each word's region is drawn over it instead of a matrix, and only a title is taken.
        Raises:
            UserError: for another extension, `values` or a style for a page, or as in `heatmap.draw`.
        """
        if self.picture is not None:
            if values or gold is not None or style != PRINT:
                raise UserError(f"{path}: a picture takes no values, gold links or style")
            from translate.figures.image_regions import show_regions

            return show_regions(self, path, title=title)
        if Path(path).suffix.lower() == ".html":
            from translate.figures.page import Page

            if values or style != PRINT:
                raise UserError(f"{path}: a page takes neither values nor a style; it shows values on demand")
            return Page.of(self, gold=gold, title=title).write(path)
        from translate.figures.heatmap import draw  # matplotlib is slow to import

        titles: Sequence[str] | None = None if title is None else [title]
        return draw([self], path, titles=titles, values=values, gold=[gold], style=style)

    def _repr_png_(self) -> bytes | None:
        """The heatmap, as a notebook shows the value of a cell; ``None`` if there is nothing to draw."""
        with TemporaryDirectory() as folder:
            return self.heatmap(Path(folder) / "cell.png").read_bytes() if self.weights.size else None


class MissingAlignmentError(UserError, AttributeError):
    """An alignment was read that nobody had asked for."""


@dataclass(frozen=True, repr=False)
class NoAlignment:
    """Stands where no alignment was asked for; it is false, and says so."""

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "no alignment: translate() was called without alignments=True"

    def __getattr__(self, name: str) -> Any:
        raise MissingAlignmentError(repr(self))


NO_ALIGNMENT = cast(Alignment, NoAlignment())


def check_threshold(threshold: float) -> None:
    """Raise UserError unless the threshold is a number from 0 to 1."""
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 <= threshold <= 1:
        raise UserError(
            f"alignment threshold is {threshold!r}; expected a number from 0 (only the largest weight) to 1"
        )


@dataclass(frozen=True, eq=False)
class DocumentAlignment:
    """The weights of the sentences of a document, and of their words, for the words of the target.

    Attributes:
        words: of the target with all sentences, one after another.
        starts: the number of the first word of each sentence; the last sentence is the source itself.
    """

    words: Alignment
    starts: Sequence[int]

    @property
    def sentences(self) -> Alignment:
        """The weight of each sentence, the sum of those of its words: (T words, sentences)."""
        edges = [*self.starts, len(self.words.source_words)]
        parts = [self.words.weights[:, a:b].sum(1) for a, b in pairwise(edges)]
        back = [f"{number} before" for number in range(len(self.starts) - 1, 0, -1)]
        names = [*back, THIS]
        return Alignment(names, self.words.target_words, np.stack(parts, 1), method="sentences")

    def draw(self, path: str | Path, *, values: bool = False, style: Style = PRINT) -> Path:
        """Draw both levels side by side; lines separate the words of the sentences.

        Raises:
            UserError: as `heatmap.draw`.
        """
        from translate.figures.heatmap import draw  # matplotlib is slow to import

        sentences = replace(self.sentences, method="")
        return draw(
            [sentences, self.words],
            path,
            titles=["sentences", "words"],
            values=values,
            style=style,
            breaks=[(), self.starts[1:]],
        )


@dataclass(frozen=True)
class AlignmentChoice:
    """The attention that is shown as the alignment.

    Attributes:
        layer: index of a layer with attention to the source.
        heads: indexes of the heads that are averaged.
        shift: 0 takes the row that predicts a target piece, 1 the row whose decoder input it is.
        threshold: weights between words of at least this are links; 0 links each target word to the source
            word with the largest weight.
        guided: the layer whose first head word links taught in training, if they did; it is not stored.
    Raises:
        UserError: for a value out of range, since values may come from a run's files.
    """

    layer: int
    heads: tuple[int, ...]
    shift: int
    threshold: float = 0.0
    guided: int | None = field(default=None, compare=False, kw_only=True)

    def __post_init__(self) -> None:
        for name, kind in _OF_CHOICE.items():
            object.__setattr__(self, name, convert(getattr(self, name), kind, f"alignment {name}"))
        if not self.heads or len(set(self.heads)) != len(self.heads):
            raise UserError(f"alignment heads: {shorten(self.heads)} must name heads, each once")

    @property
    def layer_and_heads(self) -> str:
        """Layer and heads in words."""
        return f"layer {self.layer}, head{'s' * (len(self.heads) > 1)} {', '.join(map(str, self.heads))}"

    @property
    def caption(self) -> str:
        """Layer, heads, the shift if the rows are those of inputs, and whether links taught it, in words."""
        guided = " (guided)" * ((self.layer, self.heads) == (self.guided, (0,)))
        return f"{self.layer_and_heads}{', shift 1' * self.shift}{guided}"

    @property
    def links_from(self) -> str:
        """The smallest weight that is a link, in words."""
        return f"{self.threshold:g}" if self.threshold else "the largest"

    def __str__(self) -> str:
        return f"{self.layer_and_heads}, shift {self.shift}, links from {self.links_from}"

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _OF_CHOICE} | {"heads": list(self.heads)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "AlignmentChoice":
        """Inverse of `to_dict`; raises UserError if a key is missing, unknown, or has a wrong value."""
        if not isinstance(values, Mapping) or set(values) != set(_OF_CHOICE):
            raise UserError(
                f"alignment choice: got {shorten(repr(values))}, expected the keys layer, heads, shift and "
                "threshold"
            )
        return cls(**values)

    def check(self, model: Seq2Seq) -> None:
        """Raise UserError if the model has no such layer or head."""
        layers, heads = model.num_attention_layers, model.num_attention_heads
        for kind, number, count in (("layer", self.layer, layers), ("head", max(self.heads), heads)):
            if number >= count:
                message = f"alignment {kind} {number} does not exist: the model has {count}, counted from 0"
                raise UserError(message)
