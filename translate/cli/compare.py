"""``translate compare``: is one run better than another, and on which sentences do they differ most?"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, NamedTuple

import typer

from translate.cli.comparison_output import Results, lines_of, page_of, record_of
from translate.cli.console import print_warnings
from translate.cli.options import (
    AsJson,
    BeamSize,
    TranslationMachine,
    check_languages,
    check_place,
    print_engine,
    run_names,
    with_groups,
)
from translate.cli.test_sets import EvaluationFiles, EvaluationSet, seen_scores
from translate.config.names import listed, shorten, shown_path
from translate.errors import UserError

EXAMPLES = """
Examples:
  translate compare runs/old runs/new --source test.en --reference test.de
  translate compare runs/old runs/new other=other.de --source test.en \\
      --reference test.de --out compared.html
  translate compare a=a.de b=b.de --source test.en --reference test.de --json
"""


@dataclass(frozen=True)
class ComparisonOptions:
    """The tests of significance, and the sentences that are shown."""

    PANEL: ClassVar = "Comparison"

    sentences: Annotated[
        int, typer.Option(min=0, metavar="N", help="Show the N sentences that differ most, by chrF.")
    ] = 5
    samples: Annotated[
        int, typer.Option(min=1, metavar="N", help="Resamples of paired bootstrap resampling.")
    ] = 1000
    trials: Annotated[int, typer.Option(min=1, metavar="N", help="Trials of approximate randomisation.")] = (
        10_000
    )
    ter: Annotated[bool, typer.Option("--ter", help="Test TER too, which takes longest.")] = False
    beam_size: BeamSize = None
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write all of it as a page (.html) that needs no network."),
    ] = None

    def __post_init__(self) -> None:
        if self.out is not None:
            if self.out.suffix.lower() not in (".html", ".htm"):
                raise UserError(f"{shown_path(self.out)}: expected a page, FILE.html")
            check_place(self.out)


@with_groups
def compare(
    systems: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...",
            help="Run directories, the baseline first; NAME=RUN renames one; NAME=FILE is a file of "
            "translations.",
        ),
    ],
    *,
    files: EvaluationFiles,
    as_json: AsJson = False,
    comparing: ComparisonOptions,
    machine: TranslationMachine,
) -> None:
    """Compare runs on a test set: scores, whether the differences are significant, and where they lie.

    Each system is compared with the first by BLEU and chrF: paired bootstrap resampling and approximate
    randomisation, both of sacrebleu. p is the probability of a difference as large as this one if both
    systems were equally good. Then come the sentences that differ most, by their chrF.
    """
    given = _read_systems(systems)
    if len(given) < 2:
        raise UserError("compare: one system alone; expected at least two of RUN, NAME=RUN and NAME=FILE")
    if files.number != 1:
        raise UserError(f"compare: {files.number} test sets; expected one")
    (test,) = files.read()
    results = _results(given, test, comparing, machine)
    if as_json:
        print(json.dumps(record_of(results)))
    else:
        print("\n".join(lines_of(results)))
    if comparing.out is not None:
        written = page_of(results).write(comparing.out)
        if not as_json:
            print(f"\npage written to {written}")
    for translator in results.translators.values():
        print_warnings(translator)


def _results(
    given: "list[System]", test: EvaluationSet, comparing: ComparisonOptions, machine: TranslationMachine
) -> Results:
    from translate.evaluation.comparison import compare as compared
    from translate.evaluation.comparison import most_different, sentence_chrf
    from translate.runs.runtime import parallel_search

    # A file that does not fit is refused before the runs translate.
    texts = {system.name: _read(system, test) for system in given if not system.is_run}
    translators = {system.name: machine.load(system.path) for system in given if system.is_run}
    languages = {name: translator.languages for name, translator in translators.items()}
    if languages:
        check_languages(languages, "compare")
    for name, translator in translators.items():
        print_engine(translator.engine)
        with parallel_search(translator, len(test.source)):
            found = translator.translate(
                test.source, beam_size=comparing.beam_size, batch_size=machine.batch_size
            )
        texts[name] = [result.text for result in found]
    texts = {system.name: texts[system.name] for system in given}
    target = next((pair[1] for pair in languages.values() if pair[1]), test.language)
    comparison = compared(
        texts,
        test.references,
        target_language=target,
        ter=comparing.ter,
        samples=comparing.samples,
        trials=comparing.trials,
    )
    chrf = {name: sentence_chrf(lines, test.references) for name, lines in texts.items()}
    shown = most_different(list(chrf.values()), comparing.sentences)
    seen = {
        system.name: seen_scores(system.path, test, texts[system.name], target)
        for system in given
        if system.is_run
    }
    return Results(test, texts, translators, comparison, chrf, shown, seen)


class System(NamedTuple):
    """A run, or a file of translations that some system wrote."""

    name: str
    path: Path
    is_run: bool


def _read_systems(arguments: Sequence[str]) -> list[System]:
    """The systems of arguments ``RUN``, ``NAME=RUN`` and ``NAME=FILE``.

    Raises:
        UserError: if one is no run directory, or if two have the same name.
    """
    from translate.runs.run_directory import check_is_run

    runs = [Path(argument) for argument in arguments if _is_run(argument)]
    names = dict(zip(runs, run_names(runs, "compare"), strict=True))
    systems = []
    for argument in arguments:
        name, _, path = argument.partition("=")
        if _is_run(argument):
            check_is_run(Path(argument))
            systems.append(System(names[Path(argument)], Path(argument), True))
        elif not name or not path:
            raise UserError(f"compare: {shorten(argument)!r}: expected RUN, NAME=RUN or NAME=FILE")
        else:
            systems.append(System(name, Path(path), Path(path).is_dir()))
    given = [system.name for system in systems]
    if len(set(given)) < len(given):
        raise UserError(f"compare: two systems have the same name: {listed(given)}; give others by NAME=RUN")
    return systems


def _is_run(argument: str) -> bool:
    return "=" not in argument or Path(argument).is_dir()


def _read(system: System, test: EvaluationSet) -> list[str]:
    from translate.text.lines import read_lines

    lines = read_lines(system.path)
    if len(lines) != len(test.source):
        raise UserError(
            f"{shown_path(system.path)} has {len(lines):,} lines but {shown_path(test.name)} has "
            f"{len(test.source):,}; line n of one must translate line n of the other"
        )
    return lines
