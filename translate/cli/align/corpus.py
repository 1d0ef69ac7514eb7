"""``translate align corpus``: the alignments of a parallel corpus as links, weights or a picture."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from translate.cli.align.options import AlignMachine, LinkOptions, WeightOptions
from translate.cli.align.output import LINKS, PICTURES, TABLES, check_effect, check_out, extension, write
from translate.cli.console import Rate
from translate.cli.options import Run, with_groups
from translate.cli.picture_input import check_words_alone
from translate.config.names import shown_path

if TYPE_CHECKING:
    from translate.alignment.alignment import Alignment

EXAMPLES = """
Examples:
  translate align corpus runs/mine --source test.en --target test.de > links
  translate align corpus runs/mine --source test.en --target test.de \\
      --out weights.jsonl
  translate align corpus runs/mine --source test.en --target test.de \\
      --out corpus.png
"""


@with_groups
def corpus(
    run: Run,
    source: Annotated[Path, typer.Option(metavar="FILE", help="Source sentences, one a line.")],
    target: Annotated[Path, typer.Option(metavar="FILE", help="Their translations.")],
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Links (.txt), weights (.tsv, .json, .jsonl, .npz) or one picture of the whole corpus "
            "(.png, .pdf, .svg). Default: links on standard output.",
        ),
    ] = None,
    weighting: WeightOptions,
    links: LinkOptions,
    machine: AlignMachine,
) -> None:
    """Align a parallel corpus: a line of links for each pair, or weights, or one picture of the corpus.

    The picture shows the distance of the weights from the diagonal, their entropy, and the fertility of
    source words.
    """
    from translate.corpora.local_files import pair_of

    check_out(out, (*PICTURES, *LINKS, *TABLES))
    check_effect(out, {"--threshold": links.threshold is not None}, (*LINKS, *TABLES))
    check_effect(out, {"--weights": links.weights}, LINKS)
    split = pair_of(source, target)
    translator = machine.load(run)
    if extension(out) in PICTURES and translator.reads == "picture":
        check_words_alone(f"--out {shown_path(out)}", translator, "")
    rate = Rate(unit="pairs", total=len(split), quiet_meanwhile=out is not None)
    pairs = zip(split.source, split.target, strict=True)
    alignments = rate.of(weighting.align(translator, pairs, machine))
    if out is not None and extension(out) in PICTURES:
        _draw(alignments, out)
    else:
        write(alignments, out, links)


def _draw(alignments: Iterable["Alignment"], out: Path) -> None:
    from translate.alignment.regions import words_alone
    from translate.figures.corpus_statistics import CorpusStatistics
    from translate.figures.plots import draw_corpus

    statistics = CorpusStatistics()
    for alignment in alignments:
        statistics.add(words_alone(alignment))
    print(f"picture of {statistics.num_pairs:,} pairs written to {draw_corpus(statistics, out)}")
