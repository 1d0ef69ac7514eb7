"""``translate align corpus`` and ``symmetrise``: the alignments of many pairs, by one run or by two."""

from collections.abc import Iterable, Iterator
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from translate.cli.align.options import (
    LINKS,
    TABLES,
    LinkOptions,
    Threshold,
    WeightOptions,
    check_effect,
    check_out,
    write,
    write_lines,
)
from translate.cli.console import progress
from translate.cli.options import (
    BatchMachine,
    Run,
    languages_of,
    option,
    with_groups,
)
from translate.cli.test_sets import read_pairs
from translate.config.names import is_code, shown_path
from translate.errors import UserError
from translate.links.symmetrise import SYMMETRISATIONS, Symmetrisation

if TYPE_CHECKING:
    from translate.translator import Translator

PairSource = Annotated[
    Path,
    option("FILE", "Source sentences, one a line, or a table of both languages (.csv, .tsv, .jsonl ...)."),
]
PairTarget = Annotated[Path | None, option("FILE", "Their translations, if they are no table.")]


@with_groups
def corpus(
    run: Run,
    source: PairSource,
    target: PairTarget = None,
    *,
    out: Annotated[
        Path | None,
        option("FILE", "Links (.txt) or weights (.json, .jsonl). Default: links on standard output."),
    ] = None,
    weighting: WeightOptions,
    links: LinkOptions,
    machine: BatchMachine,
) -> None:
    """Align a parallel corpus: a line of links for every pair, or weights.

    Examples:
      translate align corpus runs/mine --source test.en --target test.de > links
      translate align corpus runs/mine --source test.en --target test.de \\
          --out weights.jsonl
    """
    check_out(out, (*LINKS, *TABLES), source, target)
    check_effect(out, {"--weights": links.weights})
    sources, targets = read_pairs(run, source, target)
    translator = machine.load(run)
    pairs = zip(sources, targets, strict=True)
    alignments = weighting.align(translator, pairs, machine)
    quiet = out is not None
    write(progress(alignments, unit="pairs", total=len(sources), quiet_meanwhile=quiet), out, links)


@with_groups
def symmetrise(
    run: Run,
    source: PairSource,
    target: PairTarget = None,
    *,
    reverse: Annotated[Path, option("RUN", "Run of the opposite direction.")],
    out: Annotated[Path | None, option("FILE", "File of links (.txt). Default: standard output.")] = None,
    heuristic: Annotated[
        Symmetrisation,
        option("NAME", f"How to combine the links: {', '.join(SYMMETRISATIONS)}."),
    ] = "grow-diag-final-and",
    threshold: Threshold = None,
    weighting: WeightOptions,
    machine: BatchMachine,
) -> None:
    """Align with two runs of opposite directions, and combine their links into one set.

    Example:
      translate align symmetrise runs/en-de --reverse runs/de-en \\
          --source test.en --target test.de > test.links
    """
    check_out(out, LINKS, source, target)
    _check_opposite(run, reverse)
    sources, targets = read_pairs(run, source, target)
    translators = machine.load(run), machine.load(reverse)
    _check_readers((run, reverse), translators)
    pairs = zip(sources, targets, strict=True)
    lines = _combined_links(translators, pairs, heuristic, threshold, weighting, machine)
    quiet = out is not None
    write_lines(progress(lines, unit="pairs", total=len(sources), quiet_meanwhile=quiet), out)


def _check_opposite(run: Path, reverse: Path) -> None:
    """Raise :class:`UserError` if, by the codes of their languages, runs are not of opposite directions."""
    here, there = languages_of(run), languages_of(reverse)
    if all(map(is_code, (*here, *there))) and there != here[::-1]:
        raise UserError(
            f"--reverse {shown_path(reverse)}: it translates {' to '.join(there)}; expected a run from "
            f"{' to '.join(here[::-1])}"
        )


def _check_readers(runs: tuple[Path, Path], translators: tuple["Translator", "Translator"]) -> None:
    """Raise :class:`UserError` for runs between whose sentences there are no links."""
    for name, translator, unread in zip(runs, translators, ("picture", "both"), strict=True):
        if translator.reads in ("picture", unread):
            raise UserError(
                f"align symmetrise: {shown_path(name)} reads pictures, which have no words; expected runs of "
                f"sentences, of which the first may have a picture beside them"
            )


def _combined_links(
    translators: tuple["Translator", "Translator"],
    pairs: Iterable[tuple[str, str]],
    heuristic: str,
    threshold: float | None,
    weighting: WeightOptions,
    machine: BatchMachine,
) -> Iterator[str]:
    """A line of links for every pair."""
    from translate.alignment.regions import words_alone
    from translate.corpora.images.line import split_line
    from translate.links.links import format_pharaoh, swapped
    from translate.links.symmetrise import symmetrise

    forward, backward = translators
    pairs, same = tee(pairs)
    turned = (
        (target, source if forward.reads == "text" else split_line(source).sentence)
        for source, target in same
    )
    there = map(words_alone, weighting.align(forward, pairs, machine))
    back = weighting.align(backward, turned, machine)
    for ahead, behind in zip(there, back, strict=True):
        links = ahead.links(threshold), swapped(behind.links(threshold))
        yield format_pharaoh(symmetrise(*links, heuristic))
