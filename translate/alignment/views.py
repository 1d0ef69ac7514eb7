"""An alignment in full: the page with all methods, and all heads side by side."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from translate.alignment.alignment import Alignment, AlignmentChoice
from translate.alignment.method_report import disputed_words
from translate.alignment.methods import METHODS, align, attention_heads
from translate.alignment.pairs import EncodedPair
from translate.errors import UserError
from translate.figures.matrix import PRINT, Style
from translate.figures.page import Alternative, Page
from translate.links.links import Gold
from translate.models.seq2seq import Seq2Seq


def page_of(
    model: Seq2Seq,
    pairs: Sequence[EncodedPair],
    choice: AlignmentChoice,
    *,
    scores: Sequence[float] | None = None,
    gold: Gold | None = None,
    first: str = "attention",
    languages: tuple[str, str] = ("", ""),
    note: str = "",
) -> Page:
    """The page of a source sentence and its translations, aligned by teacher forcing.

    The views are `alignment`, the attention that calibration chose; `attention`, every layer and head, if
    there are several; and the other methods that the backend supports. The page marks target words on which
    attention and erasure disagree.

    Args:
        pairs: the source with one translation, or with the n best; the page opens with the first.
        choice: the attention that is shown.
        scores: one for every translation.
        gold: links of the first translation.
        first: the method that the page shows first.
        languages: of source and target.
        note: shown at the top, before the layer and heads.
    Raises:
        UserError: for a side without words.
        ValueError: for a gold link outside its sentences.
    """
    found = {"attention": align(model, pairs, choice)}
    for method in METHODS:
        if method not in found:
            # Attention has accepted the same sentences, so an error means a missing method.
            with suppress(UserError):
                found[method] = align(model, pairs, choice, method=method)
    alternatives = []
    for index, pair in enumerate(pairs):
        alignments = {method: of_method[index] for method, of_method in found.items()}
        alternatives.append(
            Alternative(
                pair.target_words,
                _views(alignments, attention_heads(model, pair, choice.shift), first),
                gold if index == 0 else None,
                None if scores is None else scores[index],
                _disputed(alignments["attention"], alignments["erasure"]) if "erasure" in alignments else {},
                _text(pair),
            )
        )
    return Page(
        pairs[0].source_words,
        alternatives,
        chosen=(choice.layer, choice.heads),
        languages=languages,
        note=": ".join(part for part in (note, choice.caption) if part),
    )


def _text(pair: EncodedPair) -> str:
    """The target words with spaces where their sentence has some."""
    begins = (begin for begin, _ in pair.target_offsets)
    ends = (0, *(end for _, end in pair.target_offsets))
    return "".join(" " * (begin > end) + word for word, begin, end in zip(pair.target_words, begins, ends))


def draw_heads_of(
    model: Seq2Seq,
    pair: EncodedPair,
    choice: AlignmentChoice,
    path: str | Path,
    *,
    title: str = "",
    style: Style = PRINT,
) -> Path:
    """Draw every layer and head of a pair as `draw_heads` does, with a frame around the chosen ones."""
    from translate.figures.heatmap import draw_heads  # matplotlib is slow to import

    weights = attention_heads(model, pair, choice.shift)
    chosen, words = (choice.layer, choice.heads), (pair.source_words, pair.target_words)
    return draw_heads(weights, *words, path, chosen=chosen, shift=choice.shift, title=title, style=style)


def _views(alignments: Mapping[str, Alignment], heads: np.ndarray, first: str) -> dict[str, np.ndarray]:
    """The weights of each view, in the order in which the page offers them."""
    views = {"alignment": alignments["attention"].weights}
    if heads.shape[:2] != (1, 1):  # a single head is the alignment
        views["attention"] = heads
    others = {method: found.weights for method, found in alignments.items() if method != "attention"}
    views |= others
    return {first: views[first], **views} if first in others else views


def _disputed(attention: Alignment, erasure: Alignment) -> dict[int, str]:
    """For each target word that attention and erasure link to different source words: a text that says so."""
    words = attention.source_words
    return {
        one.target: f"attention says {words[one.attention]}, erasure {words[one.erasure]}"
        for one in disputed_words([attention], [erasure])
    }
