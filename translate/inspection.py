"""All that can be seen of the alignment of a pair: as a page, or as small pictures of every head."""

from collections.abc import Sequence
from pathlib import Path

from translate.alignment.alignment import Alignment
from translate.alignment.extract import METHODS
from translate.alignment.heads import attention_heads
from translate.alignment.links import Gold
from translate.alignment.page import Alternative, Page
from translate.alignment.report import dispute
from translate.errors import UserError
from translate.translator import Translator


def page_of(
    translator: Translator,
    source: str,
    targets: Sequence[str],
    *,
    scores: Sequence[float] | None = None,
    gold: Gold | None = None,
    whitespace: bool = False,
    note: str = "",
) -> Page:
    """The page of a source sentence and its translations, each forced on it.

    The views are `alignment`, what calibration chose; if there are several, every layer and head as
    `attention`; and `gradient`, `erasure` and `norm`. Words on which attention and erasure disagree are
    marked.

    Args:
        targets: one translation, or the n best; the first is shown first.
        scores: one a translation.
        gold: links of the first translation.
        whitespace: count words at white space alone, as gold links do.
        note: shown at the top, before the layer and heads.
    Raises:
        UserError: for a side without words.
        ValueError: if there are no targets, not one score each, or a gold link outside its sentences.
    """
    if not targets or (scores is not None and len(scores) != len(targets)):
        raise ValueError(f"{len(targets)} targets with {len(scores or ())} scores")
    by_method = _by_method(translator, [source] * len(targets), targets, whitespace=whitespace)
    alignments = by_method.pop("attention")
    choice = translator.choice
    alternatives = []
    for place, (target, alignment) in enumerate(zip(targets, alignments, strict=True)):
        if not alignment.weights.size:
            raise UserError(
                f"nothing to show: {len(alignment.source_words)} source and "
                f"{len(alignment.target_words)} target words"
            )
        pair = translator.encode_pair(source, target, whitespace=whitespace)
        heads = attention_heads(translator.model, pair, choice.shift, device=translator.device)
        views = {"alignment": alignment.weights}
        if heads.shape[:2] != (1, 1):  # a single head is the alignment
            views["attention"] = heads
        views |= {method: found[place].weights for method, found in by_method.items()}
        alternatives.append(
            Alternative(
                alignment.target_words,
                views,
                gold if place == 0 else None,
                None if scores is None else scores[place],
                _doubts(alignment, by_method["erasure"][place]),
            )
        )
    chosen = f"layer {choice.layer}, {_heads(choice.heads)}, shift {choice.shift}"
    return Page(
        alignments[0].source_words,
        alternatives,
        chosen=(choice.layer, choice.heads),
        languages=translator.languages,
        note=": ".join(part for part in (note, chosen) if part),
    )


def _by_method(
    translator: Translator, sources: Sequence[str], targets: Sequence[str], *, whitespace: bool
) -> dict[str, list[Alignment]]:
    """The alignments by each method that the model has."""
    found = {}
    for method in METHODS:
        try:
            found[method] = translator.align(sources, targets, method=method, whitespace=whitespace)
        except UserError:
            if method != "norm":  # which not every mechanism has
                raise
    return found


def _doubts(attention: Alignment, erasure: Alignment) -> dict[int, str]:
    """Why not to trust a target word's alignment."""
    words = attention.source_words
    return {
        each.target: f"attention is on {words[each.attention]}, leaving out {words[each.erasure]} costs most"
        for each in dispute([attention], [erasure])
    }


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
    from translate.alignment.multiples import draw_heads  # matplotlib is slow to import

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


def _heads(heads: Sequence[int]) -> str:
    return f"head{'s' * (len(heads) > 1)} {', '.join(map(str, heads))}"
