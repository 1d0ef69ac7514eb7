"""The options that subcommands of ``translate align`` share, and the files that they write."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import typer

from translate.cli.console import as_unicode, print_note
from translate.cli.options import BatchMachine, check_place, flag, option, warn_of_exchange
from translate.config.names import shorten, shown_path
from translate.errors import UserError
from translate.figures.matrix import PRINT, Style

if TYPE_CHECKING:
    from translate.alignment.alignment import Alignment
    from translate.links.links import Gold
    from translate.translation import ScoredText
    from translate.translator import Translator

LINKS = (".txt", ".pharaoh", ".links")
TABLES = (".json", ".jsonl")
PICTURES = (".png", ".pdf", ".svg")
PAGE = ".html"
CHUNK = 2048  # pairs of a corpus in memory at a time

# The files that each of these options has an effect on.
EFFECTS = {
    "--threshold": (*LINKS, *TABLES),
    "--weights": LINKS,
    "--values": PICTURES,
    "--colours": PICTURES,
    "--font": PICTURES,
    "--font-size": PICTURES,
    "--title": (*PICTURES, PAGE),
    "--links": (*PICTURES, PAGE),
}


SOURCE = typer.Argument(
    metavar="SOURCE",
    help="A source sentence, or the picture that a run describes; for files see translate align corpus.",
    callback=as_unicode,
)
Target = Annotated[
    str | None,
    typer.Argument(
        metavar="TARGET", help="Its translation. Default: the model translates.", callback=as_unicode
    ),
]
SourceFile = Annotated[Path | None, option("FILE", "Source sentences, one a line.")]
TargetFile = Annotated[Path | None, option("FILE", "Their translations.")]
DataFromRun = Annotated[
    bool, flag("--data-from-run", "Read the files or download the corpus that the run names; trust it.")
]
PictureFile = Annotated[Path, option("FILE", "Picture to write: .png, .pdf or .svg.")]
Threshold = Annotated[
    float | None,
    option(
        "W",
        "Link all weights from W on; 0: only the largest weight of each target word. Default: the "
        "choice of the run.",
        min=0,
        max=1,
    ),
]
Title = Annotated[
    str | None,
    option(
        "TEXT", "First line of the caption; '' for none. Default: the name of the run.", callback=as_unicode
    ),
]
Shift = Annotated[int | None, option("N", "0: where a word is predicted; 1: is read.", min=0, max=1)]
Whitespace = Annotated[bool, flag("--whitespace", "Split words at white space alone, as gold links do.")]


@dataclass(frozen=True)
class WeightOptions:
    """The method that computes weights between words."""

    PANEL: ClassVar = "Weights"

    method: Annotated[
        Literal["attention", "gradient", "erasure", "norm"],
        option(
            "NAME",
            "attention: the chosen layer and heads; gradient: gradient times input; erasure: how much "
            "the log-probability drops without the source word; norm: attention times the size of values.",
        ),
    ] = "attention"
    layer: Annotated[int | None, option("N", "Another layer, from 0, with all its heads.", min=0)] = None
    head: Annotated[list[int] | None, option("N", "Another head; several are averaged.", min=0)] = None
    shift: Shift = None
    whitespace: Whitespace = False

    def choose(self, translator: "Translator") -> None:
        """Let the translator show layer, heads and shift as given, with the largest weight as the link."""
        if self.layer is None and not self.head and self.shift is None:
            return
        if self.method in ("gradient", "erasure"):
            raise UserError(f"align: --layer, --head and --shift have no effect on --method {self.method}")
        chosen, every = translator.choice, range(translator.model.num_attention_heads)
        layer, heads = (chosen.layer, chosen.heads) if self.layer is None else (self.layer, tuple(every))
        shift, heads = chosen.shift if self.shift is None else self.shift, tuple(self.head or heads)
        others = replace(chosen, layer=layer, heads=heads, shift=shift)
        translator.choice = chosen if others == chosen else replace(others, threshold=0.0)
        translator.choice.check(translator.model)
        if layer != chosen.layer and self.shift is None:
            print_note(
                f"shift {shift} was chosen for layer {chosen.layer}; layer {layer} may fit better with "
                f"--shift {1 - shift}"
            )

    def align(
        self, translator: "Translator", pairs: Iterable[tuple[str, str]], machine: BatchMachine
    ) -> Iterator["Alignment"]:
        """The alignment of each pair, in chunks."""
        note_context(translator)
        self.choose(translator)
        iterator = iter(pairs)
        while chunk := list(islice(iterator, CHUNK)):
            yield from translator.align(
                *zip(*chunk, strict=True),
                method=self.method,
                whitespace=self.whitespace,
                batch_size=machine.batch_size,
            )


@dataclass(frozen=True)
class LinkOptions:
    """The weights that become links, and the form in which links are written."""

    PANEL: ClassVar = "Links"

    threshold: Threshold = None
    weights: Annotated[bool, flag("--weights", "Write each link with its weight: 0-0:0.9412.")] = False


@dataclass(frozen=True)
class StyleOptions:
    """The look of a picture."""

    PANEL: ClassVar = "Picture"

    colours: Annotated[
        str | None,
        option("NAME", f"Colour map: {PRINT.colours} (the default, on white), gray, viridis, Blues ..."),
    ] = None
    font: Annotated[str | None, option("NAME", f"Font of the words. Default: {PRINT.font}.")] = None
    font_size: Annotated[
        float | None,
        option("POINTS", "Size of the words; the cells shrink with them. Default: 8 to 11.", min=3, max=40),
    ] = None

    def __post_init__(self) -> None:
        if self.colours is not None or self.font is not None:
            from translate.figures.figure import find_colour_map, find_font  # matplotlib is slow to import

            find_colour_map(self.style.colours)
            find_font(self.style.font)

    @property
    def given(self) -> dict[str, object]:
        """Each option with its value, `None` if it is not given."""
        return {"--colours": self.colours, "--font": self.font, "--font-size": self.font_size}

    @property
    def style(self) -> Style:
        return Style(self.colours or PRINT.colours, self.font or PRINT.font, self.font_size)


@dataclass(frozen=True)
class PictureOptions(StyleOptions):
    """Additions to the weights in a picture."""

    values: Annotated[bool, flag("--values", "Write each weight into its cell.")] = False
    links: Annotated[str | None, option("LINKS", "Frame the cells of known links: '0-0 1-2 2p1'.")] = None

    def known_links(self, alignment: "Alignment") -> "Gold | None":
        """The links of ``--links``; raises :class:`UserError` if they do not fit the words."""
        from translate.links.links import parse_gold

        if self.links is None:
            return None
        lengths = len(alignment.source_words), len(alignment.target_words)
        return parse_gold(self.links, where="--links", lengths=lengths)


def check_unused(out: Path, what: str, given: Mapping[str, object]) -> None:
    """Raise :class:`UserError` if an option is given for a picture that has no place for it."""
    for name, value in given.items():
        if value:
            raise UserError(f"{name} has no effect on {out}, which shows {what}")


def note_context(translator: "Translator") -> None:
    """Say so if a run reads previous sentences, which are not given."""
    if translator.context.sentences:
        print_note("this run reads previous sentences of a document, but the pairs are aligned without them")


def translated(
    translator: "Translator",
    source: str,
    target: str | None,
    n_best: int = 1,
    context: Sequence[Sequence[str]] | None = None,
) -> tuple[list["ScoredText"], "Alignment | None"]:
    """The given translation; without one the model's own, best first, and the alignment of the best.

    Prints the best translation of the model.
    """
    from translate.runs.run_directory import is_run
    from translate.text.words import split_words
    from translate.translation import ScoredText

    if translator.reads == "text":
        warn_of_exchange(translator.languages, [source])
    if is_run(Path(source)):
        raise UserError(f"{shown_path(source)} is a run, too: translate align compare RUN SOURCE --with RUN")
    if target is not None:
        if not target.strip():
            raise UserError("TARGET is empty; left out, the model translates SOURCE")
        if extension(Path(target)) in (*PICTURES, PAGE, *LINKS, *TABLES):
            raise UserError(f"{shorten(target)} is the name of a file; to write it: --out {shorten(target)}")
        if len(split_words(target)) == 1:
            print_note(f"{shorten(target)} is taken as the translation; a sentence is put in quotes")
        return [ScoredText(target, 0.0)], None
    (result,) = translator.translate([source], alignments=True, n_best=n_best, context=context)
    print(result.text)
    others = (other for other in result.n_best[1:] if other.text)
    return [ScoredText(result.text, result.score), *others], result.alignment


def extension(out: Path | None) -> str:
    """The extension in lower case; standard output gets links."""
    return ".txt" if out is None else out.suffix.lower()


def check_out(out: Path | None, extensions: tuple[str, ...], *read: str | Path | None) -> None:
    """Raise :class:`UserError` if the file cannot be written, before the model is loaded."""
    if out is None:
        return
    if extension(out) not in extensions:
        got = shorten(out.suffix) or "no extension"
        hint = ""
        if extension(out) in (*PICTURES, PAGE):
            page = "; translate align RUN SOURCE writes a page"
            hint = page if PICTURES[0] in extensions else "; a picture or a page is of one sentence"
        raise UserError(f"{shown_path(out)}: expected one of {', '.join(extensions)}, got {got}{hint}")
    check_place(out, *read)


def check_effect(out: Path | None, given: Mapping[str, object]) -> None:
    """Raise :class:`UserError` if one of the options of ``EFFECTS`` is given that has none on the file."""
    for name, value in given.items():
        if value is not None and value is not False and extension(out) not in EFFECTS[name]:
            where = "standard output" if out is None else shown_path(out)
            raise UserError(f"{name} has no effect on {where}; it is for {', '.join(EFFECTS[name])} files")


def write(alignments: Iterable["Alignment"], out: Path | None, links: LinkOptions) -> None:
    """Print links, or write links or weights to a file and say so in one line."""
    from translate.alignment.formats import write_alignments

    if extension(out) in LINKS:
        lines = (alignment.pharaoh(links.threshold, weights=links.weights) for alignment in alignments)
        write_lines(lines, out)
    elif out is not None:
        write_alignments(alignments, out, threshold=links.threshold, weights=links.weights)
        print(f"weights written to {out}")


def write_lines(lines: Iterable[str], out: Path | None) -> None:
    """Print lines of links, or write them to a file and say so in one line."""
    if out is None:
        for line in lines:
            print(line)
        return
    from translate.text.file_writing import aside

    with aside(out) as new, new.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)
    print(f"links written to {out}")
