"""``translate align pair``, ``heads`` and ``compare``: the alignment of one pair, in several ways."""

import os
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from translate.cli.align.options import (
    LINKS,
    PAGE,
    PICTURES,
    SOURCE,
    TABLES,
    LinkOptions,
    PictureFile,
    PictureOptions,
    Shift,
    StyleOptions,
    Target,
    Title,
    WeightOptions,
    Whitespace,
    check_effect,
    check_out,
    check_unused,
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
    run_names,
    with_groups,
)
from translate.cli.source_options import PictureInput, check_words_alone
from translate.config.names import counted, shown_path
from translate.errors import UserError

if TYPE_CHECKING:
    from translate.translator import Translator

ALTERNATIVES = 3  # the model's own translations on a page, at most


@with_groups
def pair(
    run: Run,
    source: Annotated[str | None, SOURCE] = None,
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
    title: Title = None,
    pictures: PictureInput,
    context: Annotated[
        list[str] | None,
        option(
            "SENTENCE",
            "A previous sentence of the document, for a run that reads them; several times, "
            "in their order. A heatmap shows sentences and words.",
            callback=as_unicode,
        ),
    ] = None,
    machine: BatchMachine,
) -> None:
    """Show the alignment of one sentence pair as links, weights, a heatmap or a page.

    Without TARGET the model translates SOURCE, and the translation is printed first.

    Examples:
      translate align pair runs/mine "I love you ."
      translate align pair runs/mine "I love you ." "je t' aime ." --out pair.json
      translate align pair runs/mine "I love you ." --out a.png --values
      translate align pair runs/mine "I love you ." --out a.html
      translate align pair runs/captions photo.jpg --out a.html
      translate align pair runs/mine "it is light ." --image a.jpg --out a.png
      translate align pair runs/mine "It barks." --context "A dog." --out a.png
    """
    if source is None and not pictures.image:
        raise UserError(
            "missing argument SOURCE: a source sentence, or the picture that a run describes (see "
            "translate align pair --help)"
        )
    check_out(out, (*PICTURES, PAGE, *LINKS, *TABLES), *(pictures.image or ()), source)
    check_effect(out, {"--threshold": links.threshold, "--weights": links.weights, "--links": picture.links})
    check_effect(out, {"--values": picture.values, "--title": title, **picture.given})
    translator = machine.load(run)
    if source is not None and translator.reads == "text" and os.path.isfile(source):
        raise UserError(
            f"{shown_path(source)} is a file; to align its lines with those of another one, write: "
            f"translate align {shlex.quote(str(run))} --source {shlex.quote(source)} --target FILE"
        )
    if target is None and "|||" in (source or ""):
        raise UserError("a pair is two arguments: translate align RUN 'I see .' 'je vois .'")
    weighting.choose(translator)
    _check_context(translator, context, out)
    (line,) = pictures.lines(translator, [source] if source else None) or [source or ""]
    wanted = min(ALTERNATIVES, translator.search.beam_size) if extension(out) == PAGE else 1
    candidates, alignment = translated(translator, line, target, wanted, [context or ()])
    best, heading = candidates[0].text, run.resolve().name if title is None else title
    if context and out is not None and extension(out) in PICTURES:
        check_unused(out, "several sentences", {"--links": picture.links, "--title": title})
        document = translator.align_document(
            line, best, context, method=weighting.method, whitespace=weighting.whitespace
        )
        drawn = document.draw(out, values=picture.values, style=picture.style)
        print(f"heatmap of {counted(len(document.starts), 'sentence')} written to {drawn}")
        return
    if alignment is None or weighting != WeightOptions():
        (alignment,) = translator.align(
            [line],
            [best],
            method=weighting.method,
            whitespace=weighting.whitespace,
            batch_size=machine.batch_size,
            context=[context or ()],
        )
    if out is not None and alignment.picture is not None and extension(out) in (PAGE, *PICTURES):
        check_unused(out, "regions", {"--values": picture.values, "--links": picture.links, **picture.given})
        above = title or None if extension(out) == PAGE else heading
        print(f"picture written to {alignment.heatmap(out, title=above)}")
    elif out is not None and extension(out) == PAGE:
        from translate.alignment.views import page_of

        page = page_of(
            translator.model,
            [translator.encode_pair(line, one.text, whitespace=weighting.whitespace) for one in candidates],
            translator.choice,
            scores=[candidate.score for candidate in candidates] if len(candidates) > 1 else None,
            gold=picture.known_links(alignment),
            first=weighting.method,
            languages=translator.languages,
            note=run.resolve().name,
        )
        print(f"page written to {(replace(page, title=title) if title else page).write(out)}")
    elif out is not None and extension(out) in PICTURES:
        gold = picture.known_links(alignment)
        drawn = alignment.heatmap(out, title=heading, values=picture.values, gold=gold, style=picture.style)
        print(f"heatmap written to {drawn}")
    else:
        write([alignment], out, links)
    print_warnings(translator)


def _check_context(translator: "Translator", context: list[str] | None, out: Path | None) -> None:
    """Raise :class:`UserError` for a page with context; say if there is none that the run would read."""
    if context and extension(out) == PAGE:
        raise UserError(f"align: --context is for heatmaps, links and weights; {out} shows one sentence")
    if translator.context.sentences and not context:
        print_note("this run reads previous sentences of a document; --context SENTENCE gives them")


@with_groups
def heads(
    run: Run,
    source: Annotated[str, SOURCE],
    target: Target = None,
    *,
    out: PictureFile,
    title: Title = None,
    style: StyleOptions,
    shift: Shift = None,
    whitespace: Whitespace = False,
    machine: MachineOptions,
) -> None:
    """Draw the attention of every layer and head for one sentence pair, side by side.

    A frame marks the heads that calibration chose. Without TARGET the model translates SOURCE.

    Example:
      translate align heads runs/mine "I love you ." "je t' aime ." --out heads.svg
    """
    from translate.alignment.views import draw_heads_of

    check_out(out, PICTURES)
    translator = machine.load(run)
    check_words_alone("align heads", translator, source)
    if shift is not None:
        translator.choice = replace(translator.choice, shift=shift)
    (best, *_), _ = translated(translator, source, target)
    pair = translator.encode_pair(source, best.text, whitespace=whitespace)
    if title is None:
        guided = translator.choice.guided
        title = run.resolve().name + ("" if guided is None else f" (guided: layer {guided}, head 0)")
    drawn = draw_heads_of(translator.model, pair, translator.choice, out, title=title, style=style.style)
    print(f"heads written to {drawn}")


@with_groups
def compare(
    run: Run,
    source: Annotated[str, SOURCE],
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

    Example:
      translate align compare runs/mine "I love you ." --with runs/other \\
          --out both.png
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
        titles=[f"{names[0]}{': its translation' if target is None else ''}", *names[1:]],
        values=picture.values,
        gold=[picture.known_links(alignment) for alignment in alignments],
        style=picture.style,
    )
    of = f" for the translation of {names[0]}" if target is None else ""
    print(f"heatmaps of {len(alignments)} runs{of} written to {drawn}")
