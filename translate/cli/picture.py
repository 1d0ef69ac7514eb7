"""The pictures and pages that ``translate align --out`` makes."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from translate.errors import UserError

if TYPE_CHECKING:
    from translate.alignment.alignment import Alignment
    from translate.translator import Candidate, Translator

PICTURES = (".png", ".pdf", ".svg")
PAGE = ".html"


class PictureOptions(NamedTuple):
    """What the user wants to see of a pair."""

    values: bool
    heads: bool
    links: str | None
    colours: str | None

    def check(self, out: Path | None) -> None:
        """Raise :class:`UserError` for an option that the file could not honour."""
        suffix = "" if out is None else out.suffix.lower()
        given = {"--values": self.values, "--heads": self.heads}
        given |= {"--links": self.links is not None, "--colours": self.colours is not None}
        for name in (name for name, value in given.items() if value):
            if suffix == PAGE and name != "--links":
                raise UserError(
                    f"align: {name} is for a picture; a page shows values, layers and heads on demand"
                )
            if suffix not in (*PICTURES, PAGE):
                raise UserError(f"align: {name} is for a picture of one pair; give --out FILE.png")
            if self.heads and name in ("--values", "--links"):
                raise UserError(
                    f"align: --heads draws small pictures, without room for {name}; leave one out"
                )
        if self.colours is not None:
            from translate.alignment.figure import find_colour_map

            find_colour_map(self.colours)


def draw_pair(
    out: Path,
    options: PictureOptions,
    translator: "Translator",
    sentence: str,
    candidates: "Sequence[Candidate]",
    found: "Alignment",
    *,
    whitespace: bool,
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

    gold = None
    if options.links is not None:
        S, T = len(found.source_words), len(found.target_words)
        gold = parse_gold(options.links, where="--links", source_length=S, target_length=T)
    colours = options.colours or "gray"
    if out.suffix.lower() == PAGE:
        texts, scores = [each.text for each in candidates], [each.score for each in candidates]
        page = page_of(
            translator, sentence, texts, scores=scores if len(texts) > 1 else None, gold=gold,
            whitespace=whitespace, note=name,
        )  # fmt: skip
        return f"page written to {page.write(out)}"
    if options.heads:
        text = candidates[0].text
        path = draw_heads_of(translator, sentence, text, out, whitespace=whitespace, colour_map=colours)
        return f"heads written to {path}"
    return f"heatmap written to {found.heatmap(out, values=options.values, gold=gold, colour_map=colours)}"


def draw_corpus_of(out: Path, alignments: "Iterable[Alignment]") -> str:
    """Sum up the alignments of a corpus in one picture, and say so in one line."""
    from translate.alignment.corpus import CorpusStatistics
    from translate.alignment.corpus_plots import draw_corpus

    statistics = CorpusStatistics()
    for each in alignments:
        statistics.add(each)
    return f"picture of {statistics.num_pairs:,} pairs written to {draw_corpus(statistics, out)}"
