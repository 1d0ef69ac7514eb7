"""The arguments and options of ``translate align``, as typer reads them."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from translate.cli.align_options import Symmetrisation

Run = Annotated[Path, typer.Argument(help="Run directory.")]
Sentence = Annotated[str | None, typer.Argument(metavar="SOURCE", help="A source sentence.")]
Translation = Annotated[
    str | None, typer.Argument(metavar="TARGET", help="Its translation; the model's own if absent.")
]
Source = Annotated[Path | None, typer.Option(help="File of source sentences: align a whole corpus.")]
Target = Annotated[Path | None, typer.Option(help="File of their translations.")]
Out = Annotated[
    Path | None,
    typer.Option(
        help="Picture (.png, .pdf, .svg), page of a pair (.html), links (.txt), or weights (.tsv, "
        ".json, .jsonl, .npz); links on standard output if not given."
    ),
]
Method = Annotated[
    Literal["attention", "gradient", "erasure", "norm"],
    typer.Option(
        metavar="NAME",
        help="What a target word owes to a source word: attention, the chosen one; gradient, times input; "
        "erasure, the drop of its log-probability without that word; norm, attention times the values'.",
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option(help="Link all weights from here on; 0: each word's largest alone. Default: the run's own."),
]
Weights = Annotated[bool, typer.Option("--weights", help="Links with weights: 0-0:0.9412.")]
Reverse = Annotated[
    Path | None,
    typer.Option(help="Run of the other direction: its links too, made one by --symmetrise."),
]
Symmetrise = Annotated[
    Symmetrisation | None,
    typer.Option(
        metavar="NAME",
        help="How the links of both directions become one: intersection, union, grow-diag, grow-diag-final "
        "or grow-diag-final-and, which is the default.",
    ),
]
Calibrate = Annotated[
    bool,
    typer.Option(
        "--calibrate",
        help="Choose layer, heads and shift again and store them with the run: by --gold; else by "
        "agreement with --reverse, or of the layers. On --source and --target, or the run's own "
        "validation set.",
    ),
]
Report = Annotated[
    bool,
    typer.Option("--report", help="Compare all methods, on --source and --target or the validation set."),
]
Gold = Annotated[
    Path | None,
    typer.Option(help="Gold links of --source and --target, for --calibrate and --report: TALP or NAACL."),
]
OneBased = Annotated[bool, typer.Option("--one-based", help="The TALP file counts from 1.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object, with --calibrate or --report.")]
Values = Annotated[bool, typer.Option("--values", help="Write the weights into the heatmap.")]
Heads = Annotated[bool, typer.Option("--heads", help="Draw every layer and head side by side.")]
With = Annotated[
    list[Path] | None,
    typer.Option(
        "--with",
        metavar="RUN",
        help="Draw the heatmap of this run, too, of the same words, beside the first; may be given several "
        "times.",
    ),
]
Links = Annotated[
    str | None,
    typer.Option(metavar="LINKS", help="Lay known links over heatmap or page: '0-0 1-2 2p1'."),
]
Colours = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Colour map of a picture: gray, gray_r, viridis, cividis ..."),
]
Whitespace = Annotated[
    bool,
    typer.Option("--whitespace", help="Words are what white space separates, as in tokenised corpora."),
]
PairBatch = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="Most pairs at a time; as many as a budget of tokens holds if not given."
    ),
]
