"""``translate align``: which source words each target word looked at."""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from translate.cli import align_flags as flags
from translate.cli.align_judged import calibrate_run, report_on_run
from translate.cli.align_options import LINKS, PAGE, PICTURES, Options, PictureOptions, check_options
from translate.cli.console import Device, Plugins, Threads, load_translator
from translate.cli.picture import draw_beside, draw_corpus_of, draw_pair, num_candidates, run_names
from translate.cli.rate import Rate

if TYPE_CHECKING:
    from translate.alignment.alignment import Alignment
    from translate.translation import ScoredText
    from translate.translator import Translator

EXAMPLES = """
Examples:

  translate align runs/demo/transformer "I love you ." --out alignment.png

  translate align runs/demo/transformer "I love you ." "je t' aime ."

  translate align runs/demo/transformer "I love you ." --out alignment.html

  translate align runs/demo/transformer "I love you ." "je t' aime ." --heads --out heads.svg

  translate align runs/demo/transformer --with runs/demo/rnn_luong "I love you ." --out both.png

  translate align runs/mine --source test.en --target test.de > test.links

  translate align runs/mine --source test.en --target test.de --out corpus.png

  translate align runs/en-de --reverse runs/de-en --source test.en --target test.de > test.links

  translate align runs/mine --calibrate --source dev.en --target dev.de --gold dev.gold

  translate align runs/mine --report
"""

CHUNK = 2048  # pairs of a corpus held at a time


def align(
    run: flags.Run,
    sentence: flags.Sentence = None,
    translation: flags.Translation = None,
    source: flags.Source = None,
    target: flags.Target = None,
    out: flags.Out = None,
    method: flags.Method = "attention",
    threshold: flags.Threshold = None,
    weights: flags.Weights = False,
    reverse: flags.Reverse = None,
    symmetrise: flags.Symmetrise = None,
    calibrate: flags.Calibrate = False,
    report: flags.Report = False,
    gold: flags.Gold = None,
    one_based: flags.OneBased = False,
    as_json: flags.Json = False,
    values: flags.Values = False,
    heads: flags.Heads = False,
    beside: flags.With = None,
    links: flags.Links = None,
    colours: flags.Colours = None,
    whitespace: flags.Whitespace = False,
    batch_size: flags.PairBatch = None,
    device: Device = "auto",
    threads: Threads = None,
    plugin: Plugins = None,
) -> None:
    """Show the alignment of a pair as a picture or a page, or align a corpus as links in Pharaoh format.

    A corpus with a picture as --out is summed up in it: distance from the diagonal, entropy, fertility.
    """
    picture = PictureOptions(values, heads, links, colours, tuple(beside or ()))
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
        picture=picture,
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
    assert options.sentence is not None
    names = run_names([run, *options.picture.beside])
    translator = load(run)
    others = [load(each) for each in options.picture.beside]
    candidates, found = _translated(translator, options)
    if options.reverse is not None:
        pairs = iter([(options.sentence, candidates[0].text)])
        _write_links(_both_directions(translator, load(options.reverse), pairs, options), options.out)
        return
    if others:
        translators = dict(zip(names, [translator, *others], strict=True))
        print(draw_beside(options, translators, candidates[0].text))
        return
    if found is None or options.whitespace or options.method != "attention":
        (found,) = _alignments(translator, iter([(options.sentence, candidates[0].text)]), options)
    if options.out is not None and options.out.suffix.lower() in (*PICTURES, PAGE):
        print(draw_pair(options, translator, candidates, found, name=run.resolve().name))
    else:
        _write(iter([found]), options)


def _translated(translator: "Translator", options: Options) -> tuple[list["ScoredText"], "Alignment | None"]:
    """The translation that was given; else the model's own, which is printed, with others for a page."""
    from translate.translation import ScoredText

    assert options.sentence is not None
    if options.translation is not None:
        return [ScoredText(options.translation, 0.0)], None
    wanted = num_candidates(options.out, translator)
    (result,) = translator.translate([options.sentence], alignments=True, n_best=wanted)
    print(result.text)
    others = [each for each in result.n_best[1:] if each.text]
    return [ScoredText(result.text, result.score), *others], result.alignment


def _corpus(load: Callable[[Path], "Translator"], run: Path, options: Options) -> None:
    from translate.corpora.local_files import pair_of

    assert options.source is not None
    assert options.target is not None
    split = pair_of(options.source, options.target)
    pairs = iter(zip(split.source, split.target, strict=True))
    translator = load(run)
    rate = Rate(unit="pairs", total=len(split), quiet_meanwhile=options.out is not None)
    if options.reverse is not None:
        lines = _both_directions(translator, load(options.reverse), pairs, options)
        _write_links(rate.of(lines), options.out)
        return
    alignments = rate.of(_alignments(translator, pairs, options))
    if options.out is not None and options.out.suffix.lower() in PICTURES:
        print(draw_corpus_of(options.out, alignments))
    else:
        _write(alignments, options)


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
    from translate.aligner.links import format_pharaoh
    from translate.alignment.directions import symmetrised

    while block := list(islice(pairs, CHUNK)):
        there = list(_alignments(translator, iter(block), options))
        back = list(_alignments(reverse, iter([(target, source) for source, target in block]), options))
        method = options.symmetrise or "grow-diag-final-and"
        yield from map(format_pharaoh, symmetrised(there, back, method, options.threshold))


def _write(alignments: Iterator["Alignment"], options: Options) -> None:
    from translate.alignment.formats import write_alignments

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
