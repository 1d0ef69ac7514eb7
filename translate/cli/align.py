"""``translate align``: which source words each target word looked at."""

from collections.abc import Callable
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from translate.cli.console import BatchSize, Device, Plugins, Threads, load_translator
from translate.errors import UserError

if TYPE_CHECKING:
    from translate.translator import Translator

EXAMPLES = """
Examples:

  translate align runs/demo/transformer "I love you ." --out alignment.png

  translate align runs/demo/transformer "I love you ." "je t' aime ."

  translate align runs/mine --source test.en --target test.de > test.links
"""

LINKS = (".txt", ".pharaoh", ".links")
PICTURES = (".png", ".pdf", ".svg")
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
        typer.Option(help="Heatmap (.png, .pdf, .svg) or links (.txt). [default: links on standard output]"),
    ] = None,
    values: Annotated[bool, typer.Option("--values", help="Write the weights into the heatmap.")] = False,
    whitespace: Annotated[
        bool,
        typer.Option("--whitespace", help="Words are what white space separates, as in tokenised corpora."),
    ] = False,
    batch_size: BatchSize = None,
    device: Device = "auto",
    threads: Threads = None,
    plugin: Plugins = None,
) -> None:
    """Show the alignment of a pair as a heatmap, or align a corpus as links in Pharaoh format."""
    if (source is None) == (sentence is None):
        raise UserError("align: give either a sentence, or --source FILE and --target FILE")

    def load() -> "Translator":  # when the rest of what the user gave is known to be right
        return load_translator(run, device, threads, plugin)

    if source is not None:
        if target is None:
            raise UserError("align: --source FILE needs --target FILE")
        if values:
            raise UserError("align: --values is for the heatmap of one pair; a corpus is aligned as links")
        _corpus(load, source, target, out, whitespace, batch_size)
        return
    assert sentence is not None
    if target is not None:
        raise UserError("align: --target FILE needs --source FILE; a sentence's translation is an argument")
    _pair(load, sentence, translation, out, values, whitespace)


def _pair(
    load: Callable[[], "Translator"],
    sentence: str,
    translation: str | None,
    out: Path | None,
    values: bool,
    whitespace: bool,
) -> None:
    if out is not None:
        _check_out(out, (*PICTURES, *LINKS))
    if values and (out is None or out.suffix.lower() in LINKS):
        raise UserError("align: --values writes the weights into a heatmap; give --out FILE.png")
    translator = load()
    found = None
    if translation is None:
        result = translator.translate([sentence], alignments=True)[0]
        translation, found = result.text, result.alignment
        print(translation)
    if found is None or whitespace:
        found = translator.align([sentence], [translation], whitespace=whitespace)[0]
    if out is None:
        print(found.pharaoh())
    elif out.suffix.lower() in LINKS:
        out.write_text(found.pharaoh() + "\n", encoding="utf-8")
        print(f"links written to {out}")
    else:
        print(f"heatmap written to {found.heatmap(out, values=values)}")


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
        _check_out(out, LINKS)
    split = pair_of(source, target)
    pairs = iter(zip(split.source, split.target, strict=True))
    translator = load()
    with out.open("w", encoding="utf-8") if out is not None else nullcontext() as file:
        while block := list(islice(pairs, CHUNK)):
            sources, targets = zip(*block, strict=True)
            for each in translator.align(sources, targets, whitespace=whitespace, batch_size=batch_size):
                print(each.pharaoh(), file=file)
    if out is not None:
        print(f"links written to {out}")
