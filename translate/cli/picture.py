"""The pictures and pages that ``translate align --out`` makes."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from translate.cli.align_options import PAGE, Options
from translate.errors import UserError

if TYPE_CHECKING:
    from translate.aligner.links import Gold
    from translate.alignment.alignment import Alignment
    from translate.translation import ScoredText
    from translate.translator import Translator

ALTERNATIVES = 3  # translations that a page shows, where it shows the model's own


def num_candidates(out: Path | None, translator: "Translator") -> int:
    """How many of the n best translations the output has room for."""
    page = out is not None and out.suffix.lower() == PAGE
    return min(ALTERNATIVES, translator.search.beam_size) if page else 1


def draw_pair(
    options: Options,
    translator: "Translator",
    candidates: "Sequence[ScoredText]",
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
    from translate.inspection import draw_heads_of, page_of

    assert options.out is not None
    assert options.sentence is not None
    picture, gold = options.picture, _known_links(options, found)
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


def run_names(runs: Sequence[Path]) -> list[str]:
    """What tells runs apart: their names, or where those are not enough the folders as they were given.

    Raises:
        UserError: if a run is given twice.
    """
    names = [run.resolve().name for run in runs]
    if len({run.resolve() for run in runs}) < len(runs):
        raise UserError(f"align: a run is given twice: {', '.join(map(str, runs))}")
    return names if len(set(names)) == len(names) else [str(run) for run in runs]


def draw_beside(options: Options, translators: "Mapping[str, Translator]", translation: str) -> str:
    """Draw what each of several runs says of the same words, side by side, and say so in one line.

    Raises:
        UserError: if the runs do not translate between the same languages.
    """
    from translate.pictures.heatmap import draw

    assert options.out is not None
    assert options.sentence is not None
    first, *others = translators
    for name in others:
        here, there = translators[first].languages, translators[name].languages
        if all(here) and all(there) and here != there:
            told = [f"{run} translates {' to '.join(pair)}" for run, pair in ((first, here), (name, there))]
            raise UserError(f"align: --with RUN needs the same languages; {', '.join(told)}")
    found = [
        each.align([options.sentence], [translation], method=options.method, whitespace=options.whitespace)[0]
        for each in translators.values()
    ]
    drawn = draw(
        found,
        options.out,
        titles=list(translators),
        values=options.picture.values,
        gold=[_known_links(options, each) for each in found],
        colour_map=options.picture.colours or "gray",
    )
    return f"heatmaps of {len(found)} runs written to {drawn}"


def _known_links(options: Options, found: "Alignment") -> "Gold | None":
    """The links of ``--links``, which must lie within the words."""
    from translate.aligner.links import parse_gold

    if options.picture.links is None:
        return None
    S, T = len(found.source_words), len(found.target_words)
    return parse_gold(options.picture.links, where="--links", source_length=S, target_length=T)


def draw_corpus_of(out: Path, alignments: "Iterable[Alignment]") -> str:
    """Sum up the alignments of a corpus in one picture, and say so in one line."""
    from translate.pictures.corpus_plots import draw_corpus
    from translate.pictures.corpus_statistics import CorpusStatistics

    statistics = CorpusStatistics()
    for each in alignments:
        statistics.add(each)
    return f"picture of {statistics.num_pairs:,} pairs written to {draw_corpus(statistics, out)}"
