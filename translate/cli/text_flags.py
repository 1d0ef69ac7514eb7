"""The arguments and options of ``translate text``, as typer reads them."""

from pathlib import Path
from typing import Annotated, Literal

import typer

BEAM, SAMPLES, LENGTHS = "Beam search", "Samples", "Lengths (pieces, end of sentence counted)"

Run = Annotated[Path, typer.Argument(help="Run directory.")]
Sentences = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SENTENCE", help="Sentences; standard input, line by line, if there is none, or for -."
    ),
]
BeamSize = Annotated[
    int | None,
    typer.Option(
        help="Hypotheses kept; 1 is greedy. Default: the run's, 5 unless it says otherwise.",
        rich_help_panel=BEAM,
    ),
]
NBest = Annotated[
    int, typer.Option(help="Translations listed for each sentence, at most the beam; or samples.")
]
LengthPenalty = Annotated[
    float | None,
    typer.Option(
        help="A: hypotheses are compared by log-probability / length^A, end of sentence counted. "
        "Default: the run's, 1.0 unless it says otherwise.",
        rich_help_panel=BEAM,
    ),
]
LengthNormalisation = Annotated[
    Literal["average", "gnmt"] | None,
    typer.Option(
        help="average: length^A; gnmt: ((5 + length) / 6)^A. Default: the run's, average.",
        rich_help_panel=BEAM,
    ),
]
CoveragePenalty = Annotated[
    float | None,
    typer.Option(
        help="B: finished hypotheses get B times the logarithm of the attention that each source piece "
        "had, where that is below 1. Default: the run's, 0.",
        rich_help_panel=BEAM,
    ),
]
NoRepeatNgram = Annotated[
    int | None, typer.Option(help="So many pieces in a row never occur twice.", rich_help_panel=BEAM)
]
MinLength = Annotated[int | None, typer.Option(help="Fewest.", rich_help_panel=LENGTHS)]
MaxLength = Annotated[int | None, typer.Option(help="Most.", rich_help_panel=LENGTHS)]
MinLengthRatio = Annotated[
    float | None, typer.Option(help="Fewest, times the source's.", rich_help_panel=LENGTHS)
]
MaxLengthRatio = Annotated[
    float | None,
    typer.Option(
        help="Most, times the source's, plus search.max_length_extra (20). Goes before the fewest.",
        rich_help_panel=LENGTHS,
    ),
]
Prefix = Annotated[str | None, typer.Option(help="How every translation begins.")]
Constraint = Annotated[
    list[str] | None,
    typer.Option(metavar="PHRASE", help="A phrase that must appear; may be given several times."),
]
Sample = Annotated[
    bool, typer.Option("--sample", help="Draw translations at random.", rich_help_panel=SAMPLES)
]
Temperature = Annotated[
    float | None, typer.Option(help="Below 1: likely pieces more often.", rich_help_panel=SAMPLES)
]
TopK = Annotated[
    int | None, typer.Option(help="Among the K likeliest pieces alone.", rich_help_panel=SAMPLES)
]
TopP = Annotated[
    float | None,
    typer.Option(help="Among the likeliest with this probability together.", rich_help_panel=SAMPLES),
]
Seed = Annotated[
    int | None,
    typer.Option(help="Another one, other samples; the same, the same.", rich_help_panel=SAMPLES),
]
Mbr = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Of N samples, the one that agrees best with all (chrF); the score is that.",
        rich_help_panel=SAMPLES,
    ),
]
Ensemble = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="RUN", help="Another run with the same target vocabulary; probabilities are averaged."
    ),
]
Int8 = Annotated[
    bool,
    typer.Option(
        "--int8",
        help="Linear layers in 8 bits on the CPU: smaller, not exact. "
        "`translate evaluate RUN --int8` prints its cost in BLEU: at most 0.24 for four runs on Multi30k.",
    ),
]
SplitSentences = Annotated[
    bool,
    typer.Option(
        "--split-sentences",
        help="A line is a paragraph: translate sentence by sentence. Not with --align, --markup, --n-best.",
    ),
]
Format = Annotated[Literal["text", "jsonl"], typer.Option(help="One line, or one JSON object, a sentence.")]
Align = Annotated[
    bool, typer.Option("--align", help="Add word links, Pharaoh format (source-target), after a tab.")
]
Markup = Annotated[
    bool,
    typer.Option("--markup", help="Carry tags (<b>, <br/>) and placeholders ({0}, %s) over, balanced."),
]
ReplaceUnknown = Annotated[
    bool,
    typer.Option(
        "--replace-unknown", help="Where the model writes an unknown piece, copy the source word it looks at."
    ),
]
