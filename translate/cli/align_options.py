"""What ``translate align`` is told, and which of it goes together."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from translate.errors import UserError

LINKS = (".txt", ".pharaoh", ".links")
TABLES = (".tsv", ".json", ".jsonl", ".npz")
PICTURES = (".png", ".pdf", ".svg")
PAGE = ".html"
Symmetrisation = Literal["intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"]


class PictureOptions(NamedTuple):
    """What the user wants to see of a pair."""

    values: bool = False
    heads: bool = False
    links: str | None = None
    colours: str | None = None
    beside: tuple[Path, ...] = ()  # further runs

    def given(self) -> list[str]:
        """The options that are not left at what they are without a word."""
        values = {"--values": self.values, "--heads": self.heads}
        values |= {"--links": self.links is not None, "--colours": self.colours is not None}
        values |= {"--with": bool(self.beside)}
        return [name for name, value in values.items() if value]


@dataclass(frozen=True)
class Options:
    """What the user gave, beside the run."""

    sentence: str | None
    translation: str | None
    source: Path | None
    target: Path | None
    gold: Path | None
    one_based: bool
    out: Path | None
    method: str
    threshold: float | None
    weights: bool
    reverse: Path | None
    symmetrise: Symmetrisation | None
    as_json: bool
    picture: PictureOptions
    whitespace: bool
    batch_size: int | None


def check_options(options: Options, *, calibrate: bool, report: bool) -> None:
    """Raise :class:`UserError` for options that do not go together, before anything is read."""
    judged = calibrate or report
    if calibrate and report:
        raise UserError("align: --calibrate and --report exclude each other")
    if options.sentence is not None and (judged or options.source is not None):
        raise UserError("align: give either a sentence, or --source FILE and --target FILE")
    if options.sentence is None and options.source is None and options.target is None and not judged:
        raise UserError("align: give either a sentence, or --source FILE and --target FILE")
    if options.source is None and options.target is not None:
        raise UserError("align: --target FILE needs --source FILE; a sentence's translation is an argument")
    if options.source is not None and options.target is None:
        raise UserError("align: --source FILE needs --target FILE")
    if options.gold is not None and not (judged and options.source is not None):
        raise UserError("align: --gold FILE goes with --calibrate or --report, --source and --target")
    if options.gold is not None and options.reverse is not None:
        raise UserError("align: --gold decides by itself; leave --reverse out")
    if options.one_based and options.gold is None:
        raise UserError("align: --one-based says how --gold FILE counts; give that")
    if options.as_json and not judged:
        raise UserError("align: --json goes with --calibrate or --report; for weights give --out FILE.json")
    if options.symmetrise is not None and (options.reverse is None or judged):
        raise UserError("align: --symmetrise needs --reverse RUN and a pair or a corpus to align")
    if options.threshold is not None and not 0 <= options.threshold <= 1:
        raise UserError(f"align: --threshold is {options.threshold}; expected a number from 0 to 1")
    if judged:
        _check_judged(options, calibrate=calibrate)
    else:
        _check_aligned(options)


def _check_judged(options: Options, *, calibrate: bool) -> None:
    what = "--calibrate" if calibrate else "--report"
    given = {
        "--out": options.out,
        **dict.fromkeys(options.picture.given(), True),
        "--weights": options.weights,
        "--threshold": options.threshold,
        "--method": options.method != "attention",
        "--reverse": options.reverse if not calibrate else None,
    }
    for name, value in given.items():
        if value not in (None, False):
            raise UserError(f"align: {name} has no effect with {what}; leave it out")


def _check_aligned(options: Options) -> None:
    suffix = ".txt" if options.out is None else options.out.suffix.lower()
    if options.source is not None and options.picture.given():
        names = ", ".join(options.picture.given())
        raise UserError(f"align: {names} is for the picture of one pair; a corpus is aligned as links")
    if options.out is not None:
        shown = () if options.reverse is not None else PICTURES if options.source else (*PICTURES, PAGE)
        _check_out(options.out, (*shown, *LINKS, *TABLES))
    _check_picture(options, suffix)
    if options.weights and suffix not in LINKS:
        raise UserError(f"align: --weights is for links, which {suffix} files have beside the weights")
    if options.reverse is not None and (suffix not in LINKS or options.weights):
        raise UserError("align: both directions make links without weights; give --out FILE.txt, or none")
    if options.threshold is not None and suffix in (*PICTURES, PAGE):
        raise UserError("align: --threshold is for links; a picture shows all weights")


def _check_picture(options: Options, suffix: str) -> None:
    given = options.picture.given()
    for name in given:
        if suffix == PAGE and name == "--with":
            raise UserError("align: --with is for a picture; a page shows one run")
        if suffix == PAGE and name != "--links":
            raise UserError(
                f"align: {name} is for a picture; a page shows values, layers and heads on demand"
            )
        if suffix not in (*PICTURES, PAGE):
            raise UserError(f"align: {name} is for a picture of one pair; give --out FILE.png")
        if options.picture.heads and name in ("--values", "--links", "--with"):
            raise UserError(f"align: --heads draws small pictures, without room for {name}; leave one out")
    if options.picture.heads and options.method != "attention":
        raise UserError(f"align: --heads shows the attention; leave --method {options.method} out")
    if options.picture.colours is not None:
        from translate.pictures.figure import find_colour_map  # matplotlib is slow to import

        find_colour_map(options.picture.colours)


def _check_out(out: Path, extensions: tuple[str, ...]) -> None:
    """Raise :class:`UserError` if the file cannot be written, before the model is loaded."""
    if out.suffix.lower() not in extensions:
        got = out.suffix or "no extension"
        raise UserError(f"{out}: expected one of {', '.join(extensions)}, got {got}")
    if out.is_dir():
        raise UserError(f"{out}: expected a file; there is a folder of that name")
    if not out.parent.is_dir():
        raise UserError(f"{out}: there is no folder {out.parent}")
