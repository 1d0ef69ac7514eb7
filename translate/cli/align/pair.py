"""``translate align pair``, ``heads`` and ``compare``: the alignment of one pair, in several ways."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from translate.cli.align.options import (
    LINKS,
    PAGE,
    PICTURES,
    TABLES,
    LinkOptions,
    PairMachine,
    PictureFile,
    PictureOptions,
    Source,
    Target,
    WeightOptions,
    Whitespace,
    check_colours,
    check_effect,
    check_out,
    extension,
    translated,
    write,
)
from translate.cli.console import as_unicode, print_note, print_warnings
from translate.cli.options import (
    BatchMachine,
    MachineOptions,
    Run,
    check_languages,
    option,
    print_engine,
    run_names,
    with_groups,
)
from translate.cli.source_options import OnePicture, PairContext, check_words_alone
from translate.config.names import shown_path
from translate.errors import UserError

if TYPE_CHECKING:
    from translate.alignment.alignment import Alignment
    from translate.translation import ScoredText
    from translate.translator import Translator

EXAMPLES = {
    "pair": """
Examples:
  translate align pair runs/mine "I love you ."
  translate align pair runs/mine "I love you ." "je t' aime ." --out pair.json
  translate align pair runs/mine "I love you ." --out a.png --values
  translate align pair runs/mine "I love you ." --out a.html
  translate align pair runs/captions photo.jpg --out a.html
  translate align pair runs/mine "it is light ." --image a.jpg --out a.png
  translate align pair runs/mine "It barks." --context "A dog." --out a.png
""",
    "heads": """
Example:
  translate align heads runs/mine "I love you ." "je t' aime ." --out heads.svg
""",
    "compare": """
Example:
  translate align compare runs/mine "I love you ." --with runs/other \\
      --out both.png
""",
}


SourceOrImage = Annotated[
    str | None,
    typer.Argument(
        metavar="SOURCE",
        help="A source sentence, or the picture that a run describes (or --image); for files see "
        "translate align corpus.",
        callback=as_unicode,
    ),
]
ALTERNATIVES = 3  # the model's own translations on a page, at most


@with_groups
def pair(
    run: Run,
    source: SourceOrImage = None,
    target: Target = None,
    *,
    out: Annotated[
        Path | None,
        option(
            "FILE",
            "Heatmap (.png, .pdf, .svg), page (.html), links (.txt) or weights (.json, .jsonl). "
            "Default: links on standard output.",
        ),
    ] = None,
    weighting: WeightOptions,
    links: LinkOptions,
    picture: PictureOptions,
    pictures: OnePicture,
    documents: PairContext,
    machine: PairMachine,
) -> None:
    """Show the alignment of one sentence pair as links, weights, a heatmap or a page.

    Without TARGET the model translates SOURCE, and the translation is printed first.
    """
    pictures.check(source)
    check_out(out, (*PICTURES, PAGE, *LINKS, *TABLES))
    check_effect(out, {"--threshold": links.threshold is not None}, (*LINKS, *TABLES))
    check_effect(out, {"--weights": links.weights}, LINKS)
    check_effect(out, {"--values": picture.values, "--colours": picture.colours is not None}, PICTURES)
    check_effect(out, {"--links": picture.links is not None}, (*PICTURES, PAGE))
    machine.check(target, weighting.method)
    translator = machine.load(run)
    context = documents.context
    _check_context(translator, context, out)
    _check_other_file(out, source, pictures.image)
    line = pictures.line(translator, source)
    if target is None:
        print_engine(translator.engine)
    wanted = min(ALTERNATIVES, translator.search.beam_size) if extension(out) == PAGE else 1
    candidates, alignment = translated(translator, line, target, wanted, context or ())
    if context and out is not None and extension(out) in PICTURES:
        _draw_document(translator, (line, candidates[0].text), context, out, weighting, picture)
        return
    if alignment is None or weighting != WeightOptions():
        (alignment,) = weighting.align(translator, [(line, candidates[0].text)], machine, context or ())
    if out is not None and alignment.picture is not None and extension(out) in (PAGE, *PICTURES):
        picture.check_no_matrix(out)
        print(f"picture written to {alignment.heatmap(out)}")
    elif out is not None and extension(out) == PAGE:
        _write_page(translator, line, candidates, alignment, out, weighting, picture, run.resolve().name)
    elif out is not None and extension(out) in PICTURES:
        gold = picture.known_links(alignment)
        drawn = alignment.heatmap(out, values=picture.values, gold=gold, colour_map=picture.colour_map)
        print(f"heatmap written to {drawn}")
    else:
        write([alignment], out, links)
    print_warnings(translator)


def _check_other_file(out: Path | None, source: str | None, picture: Path | None) -> None:
    """Raise :class:`UserError` if what is written would replace the picture that is read."""
    read = [name for name in (picture, source) if name]
    if out is None or not out.exists():
        return
    if any(os.path.exists(name) and os.path.samefile(name, out) for name in read):
        raise UserError(f"--out {shown_path(out)}: is the picture that is read; choose another name")


def _check_context(translator: "Translator", context: list[str] | None, out: Path | None) -> None:
    """Raise :class:`UserError` for a page with context; say if there is none that the run would read."""
    if context and extension(out) == PAGE:
        raise UserError(f"align: --context is for heatmaps, links and weights; {out} shows one sentence")
    if translator.context.sentences and not context:
        print_note("this run reads previous sentences of a document; --context SENTENCE gives them")


def _draw_document(
    translator: "Translator",
    pair: tuple[str, str],
    context: list[str],
    out: Path,
    weighting: WeightOptions,
    picture: PictureOptions,
) -> None:
    picture.check_no_links(out)
    document = translator.align_document(
        *pair, context, method=weighting.method, whitespace=weighting.whitespace
    )
    drawn = document.draw(out, values=picture.values, colour_map=picture.colour_map)
    print(f"heatmap of {len(document.starts)} sentences written to {drawn}")


def _write_page(
    translator: "Translator",
    source: str,
    candidates: list["ScoredText"],
    alignment: "Alignment",
    out: Path,
    weighting: WeightOptions,
    picture: PictureOptions,
    name: str,
) -> None:
    from translate.alignment.views import page_of

    page = page_of(
        translator.model,
        [
            translator.encode_pair(source, candidate.text, whitespace=weighting.whitespace)
            for candidate in candidates
        ],
        translator.choice,
        scores=[candidate.score for candidate in candidates] if len(candidates) > 1 else None,
        gold=picture.known_links(alignment),
        first=weighting.method,
        languages=translator.languages,
        note=name,
    )
    print(f"page written to {page.write(out)}")


@with_groups
def heads(
    run: Run,
    source: Source,
    target: Target = None,
    *,
    out: PictureFile,
    colours: Annotated[str, option("NAME", "Colour map: gray, gray_r, viridis, cividis ...")] = "gray",
    whitespace: Whitespace = False,
    machine: MachineOptions,
) -> None:
    """Draw the attention of every layer and head for one sentence pair, side by side.

    A frame marks the heads that calibration chose. Without TARGET the model translates SOURCE.
    """
    from translate.alignment.views import draw_heads_of

    check_out(out, PICTURES)
    check_colours(colours)
    translator = machine.load(run)
    check_words_alone("align heads", translator, source)
    (best, *_), _ = translated(translator, source, target)
    pair = translator.encode_pair(source, best.text, whitespace=whitespace)
    drawn = draw_heads_of(translator.model, pair, translator.choice, out, colour_map=colours)
    print(f"heads written to {drawn}")


@with_groups
def compare(
    run: Run,
    source: Source,
    target: Target = None,
    *,
    beside: Annotated[
        list[Path], option("RUN", "A run to draw beside it; may be given several times.", "--with")
    ],
    out: PictureFile,
    weighting: WeightOptions,
    picture: PictureOptions,
    machine: BatchMachine,
) -> None:
    """Draw the heatmaps of several runs for the same sentence pair, side by side.

    Without TARGET the first run translates SOURCE, and all runs show the alignment of that translation.
    """
    from translate.figures.heatmap import draw

    check_out(out, PICTURES)
    names = run_names([run, *beside], "align")
    translators = {name: machine.load(path) for name, path in zip(names, (run, *beside), strict=True)}
    for translator in translators.values():
        check_words_alone("align compare", translator, source)
    languages = {name: translator.languages for name, translator in translators.items()}
    check_languages(languages, "align: --with RUN")
    (best, *_), _ = translated(translators[names[0]], source, target)
    alignments = [
        alignment
        for translator in translators.values()
        for alignment in weighting.align(translator, [(source, best.text)], machine)
    ]
    drawn = draw(
        alignments,
        out,
        titles=names,
        values=picture.values,
        gold=[picture.known_links(alignment) for alignment in alignments],
        colour_map=picture.colour_map,
    )
    print(f"heatmaps of {len(alignments)} runs written to {drawn}")
