"""The alignment of a pair in full: as a page with all methods, or as small pictures of every head."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np

from translate.alignment.alignment import Alignment
from translate.alignment.extract import METHODS, align, attention_heads
from translate.alignment.pairs import EncodedPair, evaluation_mode
from translate.corpora.batching import pad
from translate.errors import UserError
from translate.figures.page import Alternative, Page
from translate.figures.picture_page import show_regions
from translate.links.links import Gold
from translate.models.vision.picture_encoders import picture_encoder
from translate.text.documents import as_one
from translate.translator import Translator

THIS = "this sentence"


@dataclass(frozen=True, eq=False)
class DocumentAlignment:
    """How much each target word looked at each sentence of a document, and at their words.

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

    def draw(self, path: str | Path, *, values: bool = False, colour_map: str = "gray") -> Path:
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
            colour_map=colour_map,
            breaks=[(), self.starts[1:]],
        )


def page_of(
    translator: Translator,
    source: str,
    targets: Sequence[str],
    *,
    scores: Sequence[float] | None = None,
    gold: Gold | None = None,
    first: str = "attention",
    whitespace: bool = False,
    note: str = "",
) -> Page:
    """The page of a source sentence and its translations, aligned by teacher forcing.

    The views are `alignment`, the attention that calibration chose; `attention`, every layer and head, if
    there are several; and the other methods that the backend supports. The page marks target words on which
    attention and erasure disagree.

    Args:
        targets: one translation, or the n best; the page opens with the first.
        scores: one for each translation.
        gold: links of the first translation.
        first: the method that the page shows first.
        whitespace: split words only at white space, as gold links do.
        note: shown at the top, before the layer and heads.
    Raises:
        UserError: for a side without words.
        ValueError: if there are no targets, not one score for each, or a gold link outside its sentences.
    """
    if not targets or (scores is not None and len(scores) != len(targets)):
        raise ValueError(f"{len(targets)} targets with {len(scores or ())} scores")
    found = _by_method(translator, source, targets, whitespace)
    alternatives = []
    for index, target in enumerate(targets):
        alignments = {method: of_method[index] for method, of_method in found.items()}
        heads = _heads(translator, source, target, whitespace)
        alternatives.append(
            Alternative(
                alignments["attention"].target_words,
                _views(alignments, heads, first),
                gold if index == 0 else None,
                None if scores is None else scores[index],
                _disputed(alignments["attention"], alignments["erasure"]) if "erasure" in alignments else {},
            )
        )
    choice = translator.choice
    chosen = f"{choice.layer_and_heads}, shift {choice.shift}"
    return Page(
        found["attention"][0].source_words,
        alternatives,
        chosen=(choice.layer, choice.heads),
        languages=translator.languages,
        note=": ".join(part for part in (note, chosen) if part),
    )


def draw_heads_of(
    translator: Translator,
    source: str,
    target: str,
    path: str | Path,
    *,
    whitespace: bool = False,
    colour_map: str = "gray",
) -> Path:
    """Draw every layer and head of a pair as `draw_heads` does, with a frame around the chosen ones."""
    from translate.figures.multiples import draw_heads  # matplotlib is slow to import

    pair = translator.encode_pair(source, target, whitespace=whitespace)
    if not pair.source_words or not pair.target_words:
        raise UserError(
            f"{path}: nothing to draw: {len(pair.source_words)} source and "
            f"{len(pair.target_words)} target words"
        )
    choice = translator.choice
    weights = attention_heads(translator.model, pair, choice.shift, device=translator.device)
    chosen = (choice.layer, choice.heads)
    words = (pair.source_words, pair.target_words)
    return draw_heads(weights, *words, path, chosen=chosen, colour_map=colour_map)


def align_document(
    translator: Translator,
    source: str,
    target: str,
    previous: Sequence[str],
    *,
    method: str = "attention",
    whitespace: bool = False,
) -> DocumentAlignment:
    """The alignment of a pair whose words are those of the previous sentences that are read, and its own.

    Raises:
        UserError: if the run reads no previous sentences, or as :meth:`Translator.align`.
    """
    translator.check_context("align", [source], [previous])
    tokenizer, near = translator.tokenizers.source, translator.read_previous(source, previous)
    parts = [tokenizer.encode_words(each, whitespace=whitespace) for each in (*near, source)]
    words = translator.tokenizers.target.encode_words(target, whitespace=whitespace)
    (found,) = align(
        translator.model,
        [EncodedPair.of(as_one(parts), words)],
        translator.choice,
        method=method,
        device=translator.device,
    )
    starts = [0, *accumulate(len(each.words) for each in parts[:-1])]
    # Offsets are into several texts.
    return DocumentAlignment(replace(found, source_offsets=()), starts)


def _by_method(
    translator: Translator, source: str, targets: Sequence[str], whitespace: bool
) -> dict[str, list[Alignment]]:
    """Alignments of all targets by attention, and by every other method that the backend supports."""
    sources = [source] * len(targets)
    found = {"attention": translator.align(sources, targets, whitespace=whitespace)}
    for method in METHODS:
        if method not in found:
            # Attention has accepted the same sentences, so an error means a missing method.
            with suppress(UserError):
                found[method] = translator.align(sources, targets, method=method, whitespace=whitespace)
    return found


def _heads(translator: Translator, source: str, target: str, whitespace: bool) -> np.ndarray:
    """The attention of every layer and head: (layers, heads, target words, source words)."""
    pair = translator.encode_pair(source, target, whitespace=whitespace)
    if not pair.source_words or not pair.target_words:
        raise UserError(
            f"nothing to show: {len(pair.source_words)} source and {len(pair.target_words)} target words"
        )
    return attention_heads(translator.model, pair, translator.choice.shift, device=translator.device)


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
    one, other = (
        {target: source for source, target in alignment.links(0)} for alignment in (attention, erasure)
    )
    return {
        target: (
            f"attention says {attention.source_words[one[target]]}, "
            f"erasure {erasure.source_words[other[target]]}"
        )
        for target in sorted(one.keys() & other.keys())
        if one[target] != other[target]
    }


def draw_picture_of(translator: Translator, source: str, alignment: Alignment, path: str | Path) -> Path:
    """Draw the region of each target word over the picture of a source line, or write it as a page.

    Weights of the encoder's channels are drawn as bars, if it weighs them.
    """
    pair = translator.encode_pair(source, "")
    channels = None
    encoder = picture_encoder(translator.model)
    if encoder is not None:
        with evaluation_mode(translator.model):
            found = encoder.channel_weights(pad([pair.source_ids])[0].to(translator.device))
        channels = None if found is None else found[0].float().cpu().numpy()
    return show_regions(alignment, path, channels=channels)
