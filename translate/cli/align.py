"""``translate align``: which source words each target word looked at."""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from translate.cli.align_judged import calibrate_run, report_on_run
from translate.cli.align_options import (
    LINKS,
    PAGE,
    PICTURES,
    Options,
    PictureOptions,
    Symmetrisation,
    check_options,
)
from translate.cli.console import Device, Plugins, Threads, load_translator
from translate.cli.picture import draw_corpus_of, draw_pair, num_candidates

if TYPE_CHECKING:
    from translate.alignment.alignment import Alignment
    from translate.translator import Translator

EXAMPLES = """
Examples:

  translate align runs/demo/transformer "I love you ." --out alignment.png

  translate align runs/demo/transformer "I love you ." "je t' aime ."

  translate align runs/demo/transformer "I love you ." --out alignment.html

  translate align runs/demo/transformer "I love you ." "je t' aime ." --heads --out heads.svg

  translate align runs/mine --source test.en --target test.de > test.links

  translate align runs/mine --source test.en --target test.de --out corpus.png

  translate align runs/en-de --reverse runs/de-en --source test.en --target test.de > test.links

  translate align runs/mine --calibrate --source dev.en --target dev.de --gold dev.gold

  translate align runs/mine --report
"""

CHUNK = 2048  # pairs of a corpus held at a time


def align(
    run: Annotated[Path, typer.Argument(help="Run directory.")],
    sentence: Annotated[str | None, typer.Argument(metavar="SOURCE", help="A source sentence.")] = None,
    translation: Annotated[
        str | None, typer.Argument(metavar="TARGET", help="Its translation; the model's own if absent.")
    ] = None,
    source: Annotated[
        Path | None, typer.Option(help="File of source sentences: align a whole corpus.")
    ] = None,
    target: Annotated[Path | None, typer.Option(help="File of their translations.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Picture (.png, .pdf, .svg), page of a pair (.html), links (.txt), or weights (.tsv, "
            ".json, .jsonl, .npz); links on standard output if not given."
        ),
    ] = None,
    method: Annotated[
        Literal["attention", "gradient", "erasure", "norm"],
        typer.Option(
            help="What a target word owes to a source word: the chosen attention; gradient times input; the "
            "drop of its log-probability without that word; attention times the norm of the values."
        ),
    ] = "attention",
    threshold: Annotated[
        float | None,
        typer.Option(help="Link all weights from here on; the largest of each target word if not given."),
    ] = None,
    weights: Annotated[bool, typer.Option("--weights", help="Links with weights: 0-0:0.9412.")] = False,
    reverse: Annotated[
        Path | None,
        typer.Option(help="Run of the other direction: its links too, made one by --symmetrise."),
    ] = None,
    symmetrise: Annotated[
        Symmetrisation | None,
        typer.Option(help="How the links of both directions become one; grow-diag-final-and if not given."),
    ] = None,
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate",
            help="Choose layer, heads and shift again and store them with the run: by --gold; else by "
            "agreement with --reverse, or of the layers. On --source and --target, or the run's own "
            "validation set.",
        ),
    ] = False,
    report: Annotated[
        bool,
        typer.Option("--report", help="Compare all methods, on --source and --target or the validation set."),
    ] = False,
    gold: Annotated[
        Path | None,
        typer.Option(
            help="Gold links of --source and --target, for --calibrate and --report: TALP or NAACL."
        ),
    ] = None,
    one_based: Annotated[bool, typer.Option("--one-based", help="The TALP file counts from 1.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object, with --calibrate or --report.")
    ] = False,
    values: Annotated[bool, typer.Option("--values", help="Write the weights into the heatmap.")] = False,
    heads: Annotated[bool, typer.Option("--heads", help="Draw every layer and head side by side.")] = False,
    links: Annotated[
        str | None,
        typer.Option(metavar="LINKS", help="Lay known links over heatmap or page: '0-0 1-2 2p1'."),
    ] = None,
    colours: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Colour map of a picture: gray, gray_r, viridis, cividis ..."),
    ] = None,
    whitespace: Annotated[
        bool,
        typer.Option("--whitespace", help="Words are what white space separates, as in tokenised corpora."),
    ] = False,
    batch_size: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Most pairs at a time; as many as a budget of tokens holds if not given."
        ),
    ] = None,
    device: Device = "auto",
    threads: Threads = None,
    plugin: Plugins = None,
) -> None:
    """Show the alignment of a pair as a picture or a page, or align a corpus as links in Pharaoh format.

    A corpus with a picture as --out is summed up in it: distance from the diagonal, entropy, fertility.
    """
    options = Options(
        sentence=sentence,
        translation=translation,
        source=source,
        target=target,
        gold=gold,
        one_based=one_based,
        out=out,
        method=method,
        threshold=threshold,
        weights=weights,
        reverse=reverse,
        symmetrise=symmetrise,
        as_json=as_json,
        picture=PictureOptions(values, heads, links, colours),
        whitespace=whitespace,
        batch_size=batch_size,
    )
    check_options(options, calibrate=calibrate, report=report)

    def load(directory: Path) -> "Translator":  # when the rest of what the user gave is known to be right
        return load_translator(directory, device, threads, plugin)

    if calibrate:
        calibrate_run(load, run, options, plugin or [])
    elif report:
        report_on_run(load, run, options, plugin or [])
    elif source is not None:
        _corpus(load, run, options)
    else:
        _pair(load, run, options)


def _pair(load: Callable[[Path], "Translator"], run: Path, options: Options) -> None:
    from translate.translator import Candidate

    assert options.sentence is not None
    translator = load(run)
    drawn = options.out is not None and options.out.suffix.lower() in (*PICTURES, PAGE)
    found, candidates = None, [Candidate(options.translation or "", 0.0)]
    if options.translation is None:
        result = translator.translate(
            [options.sentence], alignments=True, n_best=num_candidates(options.out, translator)
        )[0]
        found, candidates = result.alignment, [Candidate(result.text, result.score)]
        candidates += [each for each in result.n_best[1:] if each.text]
        print(result.text)
    if options.reverse is not None:
        pairs = iter([(options.sentence, candidates[0].text)])
        _write_links(_both_directions(translator, load(options.reverse), pairs, options), options.out)
        return
    if found is None or options.whitespace or options.method != "attention":
        found = translator.align(
            [options.sentence], [candidates[0].text], method=options.method, whitespace=options.whitespace
        )[0]
    if drawn:
        print(draw_pair(options, translator, candidates, found, name=run.resolve().name))
    else:
        _write(iter([found]), options)


def _corpus(load: Callable[[Path], "Translator"], run: Path, options: Options) -> None:
    from translate.text.files import pair_of

    assert options.source is not None
    assert options.target is not None
    split = pair_of(options.source, options.target)
    pairs = iter(zip(split.source, split.target, strict=True))
    translator = load(run)
    if options.reverse is not None:
        _write_links(_both_directions(translator, load(options.reverse), pairs, options), options.out)
    elif options.out is not None and options.out.suffix.lower() in PICTURES:
        print(draw_corpus_of(options.out, _alignments(translator, pairs, options)))
    else:
        _write(_alignments(translator, pairs, options), options)


def _alignments(
    translator: "Translator", pairs: Iterator[tuple[str, str]], options: Options
) -> Iterator["Alignment"]:
    while block := list(islice(pairs, CHUNK)):
        sources, targets = zip(*block, strict=True)
        yield from translator.align(
            sources,
            targets,
            method=options.method,
            whitespace=options.whitespace,
            batch_size=options.batch_size,
        )


def _both_directions(
    translator: "Translator", reverse: "Translator", pairs: Iterator[tuple[str, str]], options: Options
) -> Iterator[str]:
    """Symmetrised links, a line a pair."""
    from translate.alignment.directions import symmetrised
    from translate.alignment.links import format_pharaoh

    while block := list(islice(pairs, CHUNK)):
        there = list(_alignments(translator, iter(block), options))
        back = list(_alignments(reverse, iter([(target, source) for source, target in block]), options))
        method = options.symmetrise or "grow-diag-final-and"
        yield from map(format_pharaoh, symmetrised(there, back, method, options.threshold))


def _write(alignments: Iterator["Alignment"], options: Options) -> None:
    from translate.alignment.files import write_alignments

    if options.out is None:
        for each in alignments:
            print(each.pharaoh(options.threshold, weights=options.weights))
        return
    write_alignments(alignments, options.out, threshold=options.threshold, weights=options.weights)
    what = "links" if options.out.suffix.lower() in LINKS else "weights"
    print(f"{what} written to {options.out}")


def _write_links(lines: Iterator[str], out: Path | None) -> None:
    if out is None:
        for line in lines:
            print(line)
        return
    with out.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)
    print(f"links written to {out}")
