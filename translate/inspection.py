"""All that can be seen of the alignment of a pair: as a page, or as small pictures of every head."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from translate.aligner.links import Gold
from translate.alignment.alignment import Alignment
from translate.alignment.extract import METHODS
from translate.alignment.heads import attention_heads
from translate.errors import UserError
from translate.pictures.page import Alternative, Page
from translate.translator import Translator


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
    """The page of a source sentence and its translations, each forced on it.

    The views are `alignment`, the attention that calibration chose; every layer and head as `attention`, if
    there are several; and the other methods that the backend has. Words of which attention and erasure say
    different things are marked.

    Args:
        targets: one translation, or the n best; the first is shown first.
        scores: one a translation.
        gold: links of the first translation.
        first: the method that is shown first.
        whitespace: count words at white space alone, as gold links do.
        note: shown at the top, before the layer and heads.
    Raises:
        UserError: for a side without words.
        ValueError: if there are no targets, not one score each, or a gold link outside its sentences.
    """
    if not targets or (scores is not None and len(scores) != len(targets)):
        raise ValueError(f"{len(targets)} targets with {len(scores or ())} scores")
    found = _by_method(translator, source, targets, whitespace)
    choice = translator.choice
    alternatives = []
    for place, target in enumerate(targets):
        own = {method: alignments[place] for method, alignments in found.items()}
        alignment = own.pop("attention")
        if not alignment.weights.size:
            raise UserError(
                f"nothing to show: {len(alignment.source_words)} source and "
                f"{len(alignment.target_words)} target words"
            )
        views = {"alignment": alignment.weights}
        pair = translator.encode_pair(source, target, whitespace=whitespace)
        heads = attention_heads(translator.model, pair, choice.shift, device=translator.device)
        if heads.shape[:2] != (1, 1):  # a single head is the alignment
            views["attention"] = heads
        views |= {method: each.weights for method, each in own.items()}
        if first in own:
            views = {first: views[first], **views}
        alternatives.append(
            Alternative(
                alignment.target_words,
                views,
                gold if place == 0 else None,
                None if scores is None else scores[place],
                _disputed(alignment, own["erasure"]) if "erasure" in own else {},
            )
        )
    source_words = found["attention"][0].source_words
    chosen = f"{choice.place}, shift {choice.shift}"
    return Page(
        source_words,
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
    """Draw every layer and head of a pair, those that calibration chose framed; as in `draw_heads`."""
    from translate.pictures.multiples import draw_heads  # matplotlib is slow to import

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


def _by_method(
    translator: Translator, source: str, targets: Sequence[str], whitespace: bool
) -> dict[str, list[Alignment]]:
    """Alignments of all targets by every method that the backend has; attention always."""
    sources = [source] * len(targets)
    found = {"attention": translator.align(sources, targets, whitespace=whitespace)}
    for method in METHODS:
        if method not in found:
            # What attention can do and this cannot, the backend has not been taught.
            with suppress(UserError):
                found[method] = translator.align(sources, targets, method=method, whitespace=whitespace)
    return found


def _disputed(attention: Alignment, erasure: Alignment) -> dict[int, str]:
    """Target words whose largest weight is on another source word by attention than by erasure, and why."""
    one, other = ({target: source for source, target in each.links(0)} for each in (attention, erasure))
    return {
        target: (
            f"attention says {attention.source_words[one[target]]}, "
            f"erasure {erasure.source_words[other[target]]}"
        )
        for target in sorted(one.keys() & other.keys())
        if one[target] != other[target]
    }
