"""``translate align``: which source words each target word looked at."""

from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from translate.cli.console import BatchSize, Device, Threads, load_translator
from translate.errors import UserError

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
    source: Annotated[Path | None, typer.Option(help="File of source sentences: align a whole corpus.")] = None,
    target: Annotated[Path | None, typer.Option(help="File of their translations.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Heatmap (.png, .pdf, .svg) or links (.txt). [default: links on standard output]"),
    ] = None,
    values: Annotated[bool, typer.Option("--values", help="Write the weights into the heatmap.")] = False,
    whitespace: Annotated[
        bool, typer.Option("--whitespace", help="Words are what white space separates, as in tokenised corpora.")
    ] = False,
    batch_size: BatchSize = None,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Show the alignment of a pair as a heatmap, or align a corpus as links in Pharaoh format."""
    if (source is None) == (sentence is None):
        raise UserError("align: give either a sentence, or --source FILE and --target FILE")
    if source is not None:
        if target is None:
            raise UserError("align: --source FILE needs --target FILE")
        _corpus(run, source, target, out, whitespace, batch_size, device, threads)
        return
    assert sentence is not None
    if target is not None:
        raise UserError("align: --target FILE needs --source FILE; a sentence's translation is an argument")
    _pair(run, sentence, translation, out, values, whitespace, device, threads)


def _pair(
    run: Path,
    sentence: str,
    translation: str | None,
    out: Path | None,
    values: bool,
    whitespace: bool,
    device: str,
    threads: int | None,
) -> None:
    if out is not None and out.suffix.lower() not in (*LINKS, *PICTURES):
        raise UserError(f"{out}: expected one of {', '.join((*PICTURES, *LINKS))}, got {out.suffix or 'no extension'!r}")
    translator = load_translator(run, device, threads)
    if translation is None:
        result = translator.translate([sentence], alignments=True)[0]
        found = result.alignment
        assert found is not None
        print(result.text)
    else:
        found = translator.align([sentence], [translation], whitespace=whitespace)[0]
    if out is None:
        print(found.pharaoh())
    elif out.suffix in LINKS:
        out.write_text(found.pharaoh() + "\n", encoding="utf-8")
        print(f"links written to {out}")
    else:
        print(f"heatmap written to {found.heatmap(out, values=values)}")


def _corpus(
    run: Path,
    source: Path,
    target: Path,
    out: Path | None,
    whitespace: bool,
    batch_size: int | None,
    device: str,
    threads: int | None,
) -> None:
    from translate.text.files import pair_of

    if out is not None and out.suffix not in LINKS:
        raise UserError(f"{out}: a corpus is aligned as links: expected {', '.join(LINKS)}")
    split = pair_of(source, target)
    pairs = iter(zip(split.source, split.target, strict=True))
    translator = load_translator(run, device, threads)
    file = out.open("w", encoding="utf-8") if out is not None else None
    while block := list(islice(pairs, CHUNK)):
        sources, targets = zip(*block, strict=True)
        for each in translator.align(sources, targets, whitespace=whitespace, batch_size=batch_size):
            print(each.pharaoh(), file=file)
    if file is not None:
        file.close()
        print(f"links written to {out}")
