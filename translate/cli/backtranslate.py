"""``translate backtranslate``: synthetic pairs from monolingual text, to train on beside real ones."""

from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from translate.cli.console import as_unicode, going_on, print_note, print_result, print_warnings, progress
from translate.cli.options import (
    AsJson,
    BeamSize,
    TranslationMachine,
    check_languages,
    check_place,
    flag,
    languages_of,
    option,
    print_engine,
    run_names,
    with_groups,
)
from translate.cli.text_options import (
    LengthOptions,
    SampleOptions,
    SearchOptions,
    check_sampling,
    search_config,
)
from translate.errors import UserError

if TYPE_CHECKING:
    from translate.translation import TranslateOptions
    from translate.translator import Translator


@dataclass(frozen=True)
class PairOptions:
    """The form of the pairs, and the search for their translations."""

    PANEL: ClassVar = "Pairs"

    tag: Annotated[
        str,
        option(
            "WORD", "First word of every source, so that a model can tell; '' for none.", callback=as_unicode
        ),
    ] = "<synthetic>"
    forward: Annotated[
        bool, flag("--forward", "The text is the source of the pairs, and its translations the target.")
    ] = False
    beam_size: BeamSize = None
    n_best: Annotated[int, option("N", "Translations of a line: beam size at most, or samples.", min=1)] = 1

    def __post_init__(self) -> None:
        if self.tag and len(self.tag.split()) != 1:
            raise UserError(f"--tag {self.tag!r}: expected one word, or '' for none")


@with_groups
def backtranslate(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Run directories, which translate from the text's language."),
    ],
    *,
    source: Annotated[Path, option("FILE", "Monolingual text, one sentence a line.")],
    out: Annotated[Path, option("FILE", "Table to write: .tsv, a column for a language.")],
    as_json: AsJson = False,
    pairs: PairOptions,
    samples: SampleOptions,
    machine: TranslationMachine,
) -> None:
    """Make synthetic pairs from monolingual text, with one run or several.

    The text is the target of the pairs, and its translation by RUN, with a tag before it, their source. Equal
    lines and equal translations give one pair. With several runs, each translates every line.

    An interrupted command goes on where it was when you give it again, and ends with the same file.

    Examples:
      translate backtranslate runs/fr-en --source news.fr --out synthetic.tsv
      translate backtranslate runs/fr-en --source news.fr --out synthetic.tsv \\
          --sample --top-k 10
      translate backtranslate runs/a runs/b --source train.en --forward \\
          --out more.tsv --tag ""
    """
    from translate.corpora.columns import stored_lines
    from translate.runs.synthesis import PairForm, check_free, synthesise

    check_free(out)
    check_place(out)
    check_sampling(SearchOptions(beam_size=pairs.beam_size), samples)
    names = run_names(runs, "backtranslate")
    _check_language(source, names[0], languages_of(runs[0]))
    lines = stored_lines(source)
    translators = [machine.load(run) for run in runs]
    languages = [translator.languages for translator in translators]
    check_languages(dict(zip(names, languages, strict=True)), "backtranslate")
    options = [_options(translator, pairs, samples, machine) for translator in translators]
    columns = languages[0] if pairs.forward else languages[0][::-1]
    if not {"", "source", "target"}.isdisjoint(columns):  # no languages, but the sides of other pairs
        columns = ("source", "target")
    bar = progress(unit="lines", total=len(lines), quiet_meanwhile=True)
    with going_on(), closing(bar):
        counts = synthesise(
            lines,
            out,
            PairForm(columns, pairs.forward, pairs.tag),
            partial(_translations, translators, options),
            readable=lambda line: all(translator.reads_whole(line) for translator in translators),
            plan=_plan(runs, options, machine),
            progress=bar.update,
        )
    print_result(counts.record(), [*counts.summary_lines(), f"written to {out}"], as_json=as_json)
    for translator in translators:
        print_warnings(translator)


def _options(
    translator: "Translator", pairs: PairOptions, samples: SampleOptions, machine: TranslationMachine
) -> "TranslateOptions":
    """The options of every call; says which engine translates with them."""
    from translate.translation import TranslateOptions

    given = SearchOptions(beam_size=pairs.beam_size)
    search = search_config(translator.search, given, LengthOptions(), samples)
    options = TranslateOptions(
        n_best=pairs.n_best, batch_size=machine.batch_size, mbr=samples.mbr, search=search
    )
    options.search_config(translator.search)  # refuses impossible ones before a file is written
    print_engine(translator.engine_for(options))
    return options


def _plan(runs: list[Path], options: list["TranslateOptions"], machine: TranslationMachine) -> dict[str, Any]:
    """Everything that decides about the translations, to be compared when the command is given again."""
    engine = {name: getattr(machine, name) for name in ("precision", "engine", "int8")}
    return {"runs": [_digest(run) for run in runs], "options": [engine, *map(asdict, options)]}


def _check_language(source: Path, run: str, languages: tuple[str, str]) -> None:
    """Say the direction; raise :class:`UserError` if the name of the text tells the run's other language."""
    from translate.corpora.local_files import check_language

    reads, writes = languages
    if reads and writes:
        check_language(source, reads, writes, f"take a run from {writes} to {reads}")
        print_note(f"{run} translates from {reads} to {writes}")


def _translations(
    translators: list["Translator"], options: list["TranslateOptions"], block: list[str]
) -> list[list[str]]:
    """The translations of each line by all runs."""
    from translate.runs.runtime import translate_all

    found: list[list[str]] = [[] for _ in block]
    for translator, wanted in zip(translators, options, strict=True):
        results = translate_all(translator, block, options=wanted)
        for texts, result in zip(found, results, strict=True):
            texts += [candidate.text for candidate in result.n_best] or [result.text]
    return found


def _digest(run: Path) -> str:
    """A name for the checkpoint that translates."""
    from translate.runs.run_directory import RunDirectory
    from translate.text.bounded import checksum

    return checksum(RunDirectory(run).best() / "model.safetensors")
