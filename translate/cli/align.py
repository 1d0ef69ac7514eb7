"""``translate align``: which source words each target word looked at."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from translate.cli.console import BatchSize, Device, Plugins, Threads, load_translator
from translate.cli.picture import PAGE, PICTURES, PictureOptions, draw_corpus_of, draw_pair
from translate.errors import UserError

if TYPE_CHECKING:
    from translate.alignment.alignment import Alignment
    from translate.translator import Translator

EXAMPLES = """
Examples:

  translate align runs/demo/transformer "I love you ." --out alignment.png

  translate align runs/demo/transformer "I love you ." --out alignment.html

  translate align runs/demo/transformer "I love you ." "je t' aime ." --heads --out heads.svg

  translate align runs/mine --source test.en --target test.de > test.links

  translate align runs/mine --source test.en --target test.de --out corpus.png
"""

LINKS = (".txt", ".pharaoh", ".links")
ALTERNATIVES = 3  # translations that a page shows, where it shows the model's own
NOTHING = PictureOptions(values=False, heads=False, links=None, colours=None)
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
            help="Picture (.png, .pdf, .svg), page (.html) or links (.txt). "
            "[default: links on standard output]"
        ),
    ] = None,
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
    batch_size: BatchSize = None,
    device: Device = "auto",
    threads: Threads = None,
    plugin: Plugins = None,
) -> None:
    """Show the alignment of a pair as a picture or a page, or align a corpus as links in Pharaoh format.

    A corpus with a picture as --out is summed up in it: distance from the diagonal, entropy, fertility.
    """
    if (source is None) == (sentence is None):
        raise UserError("align: give either a sentence, or --source FILE and --target FILE")

    options = PictureOptions(values, heads, links, colours)

    def load() -> "Translator":  # when the rest of what the user gave is known to be right
        return load_translator(run, device, threads, plugin)

    if source is not None:
        if target is None:
            raise UserError("align: --source FILE needs --target FILE")
        if options != NOTHING:
            raise UserError("align: --values, --heads, --links and --colours are for the picture of one pair")
        _corpus(load, source, target, out, whitespace, batch_size)
        return
    assert sentence is not None
    if target is not None:
        raise UserError("align: --target FILE needs --source FILE; a sentence's translation is an argument")
    _pair(load, sentence, translation, out, options, whitespace, run.resolve().name)


def _pair(
    load: Callable[[], "Translator"],
    sentence: str,
    translation: str | None,
    out: Path | None,
    options: PictureOptions,
    whitespace: bool,
    name: str,
) -> None:
    from translate.translator import Candidate

    if out is not None:
        _check_out(out, (*PICTURES, PAGE, *LINKS))
    options.check(out)
    translator = load()
    found, candidates = None, [Candidate(translation or "", 0.0)]
    if translation is None:
        n_best = min(ALTERNATIVES, translator.search.beam_size) if _is_page(out) else 1
        result = translator.translate([sentence], alignments=True, n_best=n_best)[0]
        found, candidates = result.alignment, [Candidate(result.text, result.score)]
        candidates += [each for each in result.n_best[1:] if each.text]
        print(result.text)
    if found is None or whitespace:
        found = translator.align([sentence], [candidates[0].text], whitespace=whitespace)[0]
    if out is None:
        print(found.pharaoh())
    elif out.suffix.lower() in LINKS:
        out.write_text(found.pharaoh() + "\n", encoding="utf-8")
        print(f"links written to {out}")
    else:
        print(
            draw_pair(out, options, translator, sentence, candidates, found, whitespace=whitespace, name=name)
        )


def _is_page(out: Path | None) -> bool:
    return out is not None and out.suffix.lower() == PAGE


def _check_out(out: Path, extensions: tuple[str, ...]) -> None:
    """Raise :class:`UserError` if the file cannot be written, before the model is loaded."""
    if out.suffix.lower() not in extensions:
        got = out.suffix or "no extension"
        raise UserError(f"{out}: expected one of {', '.join(extensions)}, got {got}")
    if out.is_dir():
        raise UserError(f"{out}: expected a file; there is a folder of that name")
    if not out.parent.is_dir():
        raise UserError(f"{out}: there is no folder {out.parent}")


def _corpus(
    load: Callable[[], "Translator"],
    source: Path,
    target: Path,
    out: Path | None,
    whitespace: bool,
    batch_size: int | None,
) -> None:
    from translate.text.files import pair_of

    if out is not None:
        _check_out(out, (*PICTURES, *LINKS))
    split = pair_of(source, target)
    pairs = iter(zip(split.source, split.target, strict=True))
    translator = load()

    def alignments() -> "Iterator[Alignment]":
        while block := list(islice(pairs, CHUNK)):
            sources, targets = zip(*block, strict=True)
            yield from translator.align(sources, targets, whitespace=whitespace, batch_size=batch_size)

    if out is not None and out.suffix.lower() in PICTURES:
        print(draw_corpus_of(out, alignments()))
        return
    with out.open("w", encoding="utf-8") if out is not None else nullcontext() as file:
        for each in alignments():
            print(each.pharaoh(), file=file)
    if out is not None:
        print(f"links written to {out}")
