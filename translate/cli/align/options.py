"""The options that subcommands of ``translate align`` share, and the files that they write."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import typer

from translate.cli.console import as_unicode, print_note
from translate.cli.options import BatchMachine, Engine, check_place, flag, option
from translate.config.names import shorten, shown_path
from translate.errors import UserError

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

Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="A source sentence, or the picture that a run describes; for files see translate align corpus.",
        callback=as_unicode,
    ),
]
Target = Annotated[
    str | None,
    typer.Argument(
        metavar="TARGET", help="Its translation. Default: the model translates.", callback=as_unicode
    ),
]
SourceFile = Annotated[Path | None, option("FILE", "Source sentences, one a line.")]
TargetFile = Annotated[Path | None, option("FILE", "Their translations.")]
PictureFile = Annotated[Path, option("FILE", "Picture to write: .png, .pdf or .svg.")]
Threshold = Annotated[
    float | None,
    option(
        "W",
        "Link all weights from W on; 0: only the largest weight of each target word. Default: the "
        "choice of the run.",
    ),
]
Whitespace = Annotated[
    bool, flag("--whitespace", "Split words only at white space, as tokenised corpora do.")
]


@dataclass(frozen=True)
class PairMachine(BatchMachine):
    """The machine of other subcommands, and the engine that translates the source."""

    engine: Engine = "torch"

    def check(self, target: str | None, method: str) -> None:
        """Say what torch computes although another engine was asked for.

        Raises:
            UserError: if CTranslate2 was demanded where there is nothing to translate.
        """
        if self.engine == "torch":
            return
        if target is not None and self.engine == "ctranslate2":
            raise UserError(
                "align: --engine ctranslate2 translates the source, but its translation is given, which one "
                "pass of torch aligns: leave out --engine"
            )
        if target is not None:
            print_note("torch aligns the pair, since its translation is given")
        elif method != "attention":
            print_note(f"torch computes --method {method}, which is no attention")


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
    whitespace: Whitespace = False

    def align(
        self,
        translator: "Translator",
        pairs: Iterable[tuple[str, str]],
        machine: BatchMachine,
        previous: Sequence[str] | None = None,
    ) -> Iterator["Alignment"]:
        """The alignment of each pair, in chunks; ``previous`` are the sentences before a single one."""
        note_context(translator, known=previous is not None)
        iterator = iter(pairs)
        while chunk := list(islice(iterator, CHUNK)):
            sources, targets = zip(*chunk, strict=True)
            yield from translator.align(
                sources,
                targets,
                method=self.method,
                whitespace=self.whitespace,
                batch_size=machine.batch_size,
                context=None if previous is None else [previous],
            )


@dataclass(frozen=True)
class LinkOptions:
    """The weights that become links, and the form in which links are written."""

    PANEL: ClassVar = "Links"

    threshold: Threshold = None
    weights: Annotated[bool, flag("--weights", "Write each link with its weight: 0-0:0.9412.")] = False

    def __post_init__(self) -> None:
        check_threshold(self.threshold)


@dataclass(frozen=True)
class PictureOptions:
    """Additions to a picture of the weights."""

    PANEL: ClassVar = "Picture"

    values: Annotated[bool, flag("--values", "Write each weight into its cell.")] = False
    links: Annotated[str | None, option("LINKS", "Frame the cells of known links: '0-0 1-2 2p1'.")] = None
    colours: Annotated[
        str | None, option("NAME", "Colour map: gray (the default), gray_r, viridis, cividis ...")
    ] = None

    def __post_init__(self) -> None:
        check_colours(self.colours)

    @property
    def colour_map(self) -> str:
        return self.colours or "gray"

    def check_no_matrix(self, out: Path) -> None:
        """Raise :class:`UserError` for options of a matrix, which a run of pictures does not draw."""
        given = {"--values": self.values, "--links": self.links, "--colours": self.colours}
        for name in (name for name, value in given.items() if value):
            raise UserError(f"align: {name} has no effect on {out}, which shows regions")

    def check_no_links(self, out: Path) -> None:
        """Raise :class:`UserError` for links, which count the words of one sentence."""
        if self.links is not None:
            raise UserError(f"align: --links has no effect on {out}, which shows several sentences")

    def known_links(self, alignment: "Alignment") -> "Gold | None":
        """The links of ``--links``; raises :class:`UserError` if they do not fit the words."""
        from translate.links.links import parse_gold

        if self.links is None:
            return None
        S, T = len(alignment.source_words), len(alignment.target_words)
        return parse_gold(self.links, where="--links", source_length=S, target_length=T)


def note_context(translator: "Translator", *, known: bool) -> None:
    """Say so if a run reads previous sentences that are not ``known``."""
    if translator.context.sentences and not known:
        print_note("this run reads previous sentences of a document, but the pairs are aligned without them")


def check_threshold(threshold: float | None) -> None:
    """Raise :class:`UserError` unless the threshold is a weight or not given."""
    if threshold is not None and not 0 <= threshold <= 1:
        raise UserError(f"align: --threshold is {threshold}; expected a number from 0 to 1")


def check_colours(name: str | None) -> None:
    """Raise :class:`UserError` for a colour map that does not exist."""
    if name is not None:
        from translate.figures.figure import find_colour_map  # matplotlib is slow to import

        find_colour_map(name)


def translated(
    translator: "Translator",
    source: str,
    target: str | None,
    n_best: int = 1,
    previous: Sequence[str] | None = None,
) -> tuple[list["ScoredText"], "Alignment | None"]:
    """The given translation; without one the model's own, best first, and the alignment of the best.

    Prints the best translation of the model.
    """
    from translate.translation import ScoredText

    if target is not None:
        return [ScoredText(target, 0.0)], None
    context = None if previous is None else [previous]
    (result,) = translator.translate([source], alignments=True, n_best=n_best, context=context)
    print(result.text)
    others = (other for other in result.n_best[1:] if other.text)
    return [ScoredText(result.text, result.score), *others], result.alignment


def extension(out: Path | None) -> str:
    """The extension in lower case; standard output gets links."""
    return ".txt" if out is None else out.suffix.lower()


def check_out(out: Path | None, extensions: tuple[str, ...]) -> None:
    """Raise :class:`UserError` if the file cannot be written, before the model is loaded."""
    if out is None:
        return
    if extension(out) not in extensions:
        got = shorten(out.suffix) or "no extension"
        raise UserError(f"{shown_path(out)}: expected one of {', '.join(extensions)}, got {got}")
    check_place(out)


def check_effect(out: Path | None, given: Mapping[str, bool], extensions: tuple[str, ...]) -> None:
    """Raise :class:`UserError` if an option is given that has no effect on the file.

    Args:
        given: for every option, whether the user gave it.
        extensions: the files that these options are for.
    """
    for name in (name for name, is_given in given.items() if is_given):
        if extension(out) not in extensions:
            where = "standard output" if out is None else shown_path(out)
            raise UserError(
                f"align: {name} has no effect on {where}; it is for {', '.join(extensions)} files"
            )


def write(alignments: Iterable["Alignment"], out: Path | None, links: LinkOptions) -> None:
    """Print links, or write links or weights to a file and say so in one line."""
    from translate.alignment.formats import write_alignments

    if out is None:
        for alignment in alignments:
            print(alignment.pharaoh(links.threshold, weights=links.weights))
        return
    write_alignments(alignments, out, threshold=links.threshold, weights=links.weights)
    print(f"{'links' if extension(out) in LINKS else 'weights'} written to {out}")


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
