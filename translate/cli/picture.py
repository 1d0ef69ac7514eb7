"""The pictures and pages that ``translate align --out`` makes."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from translate.cli.align_options import PAGE, Options

if TYPE_CHECKING:
    from translate.alignment.alignment import Alignment
    from translate.translator import Candidate, Translator

ALTERNATIVES = 3  # translations that a page shows, where it shows the model's own


def num_candidates(out: Path | None, translator: "Translator") -> int:
    """How many of the n best translations the output has room for."""
    page = out is not None and out.suffix.lower() == PAGE
    return min(ALTERNATIVES, translator.search.beam_size) if page else 1


def draw_pair(
    options: Options,
    translator: "Translator",
    candidates: "Sequence[Candidate]",
    found: "Alignment",
    *,
    name: str,
) -> str:
    """Make the picture or page, and say so in one line.

    Args:
        candidates: the translation, or the n best of which a page shows all.
        found: the alignment of the first.
        name: of the run.
    """
    from translate.alignment.links import parse_gold
    from translate.inspection import draw_heads_of, page_of

    assert options.out is not None
    assert options.sentence is not None
    picture, gold = options.picture, None
    if picture.links is not None:
        S, T = len(found.source_words), len(found.target_words)
        gold = parse_gold(picture.links, where="--links", source_length=S, target_length=T)
    colours = picture.colours or "gray"
    texts, scores = [each.text for each in candidates], [each.score for each in candidates]
    if options.out.suffix.lower() == PAGE:
        page = page_of(
            translator,
            options.sentence,
            texts,
            scores=scores if len(texts) > 1 else None,
            gold=gold,
            first=options.method,
            whitespace=options.whitespace,
            note=name,
        )
        return f"page written to {page.write(options.out)}"
    if picture.heads:
        path = draw_heads_of(
            translator,
            options.sentence,
            texts[0],
            options.out,
            whitespace=options.whitespace,
            colour_map=colours,
        )
        return f"heads written to {path}"
    drawn = found.heatmap(options.out, values=picture.values, gold=gold, colour_map=colours)
    return f"heatmap written to {drawn}"


def draw_corpus_of(out: Path, alignments: "Iterable[Alignment]") -> str:
    """Sum up the alignments of a corpus in one picture, and say so in one line."""
    from translate.alignment.corpus import CorpusStatistics
    from translate.alignment.corpus_plots import draw_corpus

    statistics = CorpusStatistics()
    for each in alignments:
        statistics.add(each)
    return f"picture of {statistics.num_pairs:,} pairs written to {draw_corpus(statistics, out)}"
