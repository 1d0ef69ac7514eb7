"""``translate compare``: is one run better than another, and on which sentences do they differ most?"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

import typer

from translate.cli.console import print_result, print_warnings
from translate.cli.options import (
    AsJson,
    BeamSize,
    Tag,
    TranslationMachine,
    check_direction,
    check_languages,
    check_place,
    flag,
    languages_of,
    option,
    print_engine,
    run_names,
    tagged,
    warn_of_languages,
    with_groups,
)
from translate.cli.test_sets import EvaluationFiles, EvaluationSet, seen_line, seen_scores, warn_of_slips
from translate.config.names import aligned, counted, cut, escaped, listed, shorten, shown_path
from translate.errors import UserError

NAMES = {"bleu": "BLEU", "chrf": "chrF", "ter": "TER"}
COLUMNS = ("", "system", "score", "95 % interval", "difference", "p bootstrap", "p randomisation")
LIKELY = 0.05  # differences with a smaller p are marked
SHOWN = 1000  # characters of a sentence on the terminal


@dataclass(frozen=True)
class ComparisonOptions:
    """The tests of significance, and the sentences that are shown."""

    PANEL: ClassVar = "Comparison"

    sentences: Annotated[int, option("N", "Show the N sentences that differ most, by chrF.", min=0)] = 5
    samples: Annotated[int, option("N", "Resamples of paired bootstrap resampling.", min=1)] = 1000
    trials: Annotated[int, option("N", "Trials of approximate randomisation.", min=1)] = 10_000
    ter: Annotated[bool, flag("--ter", "Test TER too, which takes longest.")] = False
    figure: Annotated[
        Path | None, option("FILE", "Draw BLEU by the length of the sentences: .png, .pdf or .svg.")
    ] = None
    beam_size: BeamSize = None
    tag: Tag = None


@with_groups
def compare(
    systems: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...",
            help="Run directories, the baseline first; NAME=RUN renames one; NAME=FILE is a file of "
            "translations. One alone is scored.",
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
    systems were equally good. Then come BLEU by the length of the sentences, and those that differ most, by
    their chrF.

    Examples:
      translate compare runs/old runs/new --source test.en --reference test.de
      translate compare runs/old runs/new other=other.de --source test.en \\
          --reference test.de --sentences 20
      translate compare mine=mine.de --source test.en --reference test.de --ter
      translate compare runs/old runs/new --source test.en --reference test.de \\
          --figure lengths.png
    """
    given = _read_systems(systems)
    if comparing.figure:
        from translate.figures.figure import check_extension

        check_extension(comparing.figure)  # before anything is translated
        check_place(comparing.figure)
    if not any(system.is_run for system in given):
        for name, value in (("--beam-size", comparing.beam_size), ("--tag", comparing.tag)):
            if value is not None:
                raise UserError(f"{name}: it has no effect on files of translations; compare a run, too")
    if files.number != 1:
        raise UserError(f"compare: {files.number} test sets; expected one")
    (test,) = files.read(next((system.path for system in given if system.is_run), None))
    if runs := {system.name: system.path for system in given if system.is_run}:
        check_languages({name: languages_of(path) for name, path in runs.items()}, "compare")
    for path in runs.values():
        check_direction(path, test.name, "--reference", *(files.reference or ()))
    for path in islice(runs.values(), 1):
        warn_of_languages(languages_of(path), test.source, *test.references[:1])
    record = _record(given, test, comparing, machine)
    print_result(record, _lines(record), as_json=as_json)
    if comparing.figure:
        from translate.figures.plots import draw_lengths

        if not record["lengths"]:
            raise UserError("--figure: all source sentences are about as long; there is nothing to draw")
        draw_lengths(record["lengths"], comparing.figure)


def _record(
    given: "list[System]", test: EvaluationSet, comparing: ComparisonOptions, machine: TranslationMachine
) -> dict[str, Any]:
    """The scores, tests and sentences as a value that JSON can hold."""
    from translate.evaluation.comparison import by_length, most_different, sentence_chrf, wins
    from translate.evaluation.comparison import compare as compared

    texts, language = _translations(given, test, comparing, machine)
    scores, signatures = compared(
        texts,
        test.references,
        target_language=language,
        ter=comparing.ter,
        samples=comparing.samples,
        trials=comparing.trials,
    )
    chrf = {name: sentence_chrf(lines, test.references) for name, lines in texts.items()}
    baseline = next(iter(texts))
    for name, lines in texts.items():
        warn_of_slips(name, lines, test.references[0])
    systems: list[dict[str, Any]] = [
        {"name": name, **{metric: scores[metric][name] for metric in scores}} for name in texts
    ]
    for system, asked in zip(systems, given, strict=True):
        if asked.is_run:
            system |= seen_scores([asked.path], test, texts[asked.name], language) | _trained(asked.path)
    for system in systems[1:]:
        system["sentences"] = wins(chrf[system["name"]], chrf[baseline])
        system["identical"] = texts[system["name"]] == texts[baseline]
    return {
        "sentences": len(test.source),
        "references": len(test.references),
        "baseline": baseline,
        "systems": systems,
        "signatures": signatures,
        "lengths": by_length(
            texts, test.references, [len(line.split()) for line in test.source], target_language=language
        ),
        "differences": [
            {
                "line": index + 1,
                "source": test.source[index],
                "references": [lines[index] for lines in test.references],
                "chrf": {name: values[index] for name, values in chrf.items()},
                "texts": {name: lines[index] for name, lines in texts.items()},
            }
            for index in most_different(list(chrf.values()), comparing.sentences)
        ],
    }


def _translations(
    given: "list[System]", test: EvaluationSet, comparing: ComparisonOptions, machine: TranslationMachine
) -> tuple[dict[str, list[str]], str]:
    """The translations of every system, and the language that they are in."""
    from translate.runs.runtime import translate_all

    # A file that does not fit is refused before the runs translate.
    texts = {system.name: _read(system, test) for system in given if not system.is_run}
    translators = {system.name: machine.load(system.path) for system in given if system.is_run}
    tagging = {name for name, run in translators.items() if comparing.tag in run.tokenizers.source.tags}
    for name, translator in translators.items():
        print_engine(translator.engine)
        tag = comparing.tag if name in tagging or not tagging else None  # of runs that know it, if any does
        sources, beam = tagged(translator, tag, test.source), comparing.beam_size
        found = translate_all(translator, sources, beam_size=beam, batch_size=machine.batch_size)
        texts[name] = [result.text for result in found]
        print_warnings(translator, name)
    languages = (translator.languages[1] for translator in translators.values())
    language = next(filter(None, languages), test.language)
    return {system.name: texts[system.name] for system in given}, language


def _trained(run: Path) -> dict[str, int]:
    """The target tokens that a run was trained on, each time counted; nothing if it was not trained here."""
    from translate.text.bounded import read_json

    with suppress(FileNotFoundError):
        scores = read_json(run / "scores.json", root=run)
        if isinstance(scores, dict) and isinstance(scores.get("tokens"), int):
            return {"tokens": scores["tokens"]}
    return {}


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
            if Path(argument).is_file():
                shown = shown_path(argument)
                raise UserError(f"{shown}: a file of translations has a name here, NAME={shown}")
            check_is_run(Path(argument))
            systems.append(System(names[Path(argument)], Path(argument), True))
        elif not name or not path:
            raise UserError(f"compare: {shorten(argument)!r}: expected RUN, NAME=RUN or NAME=FILE")
        elif not Path(path).exists():
            raise UserError(f"{shown_path(path)}: no such file; {shorten(argument)!r} is read as NAME=FILE")
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
        found, wanted = counted(len(lines), "line"), f"{len(test.source):,}, as {shown_path(test.name)} has"
        raise UserError(f"{shown_path(system.path)}: {found}; expected {wanted}")
    return lines


def _lines(record: dict[str, Any]) -> list[str]:
    """Scores and tests as a table, sacrebleu's signatures, and the sentences that differ most."""
    baseline = _label(record["baseline"])
    lines = aligned([list(COLUMNS), *_rows(record)])
    if any("*" in line for line in lines):
        lines += ["", f"* p below {LIKELY}: unlikely if {baseline} were as good"]
    for system in record["systems"]:
        if system.get("seen_in_training"):
            lines.append(seen_line(system, f"{_label(system['name'])}'s", record["sentences"]))
    tokens = {_label(system["name"]): system["tokens"] for system in record["systems"] if "tokens" in system}
    if len({*tokens.values()}) > 1:
        lines.append(f"target tokens in training: {', '.join(f'{run} {n:,}' for run, n in tokens.items())}")
    for system in record["systems"][1:]:
        better, worse, equal = system["sentences"].values()
        lines.append(
            f"{_label(system['name'])} against {baseline}, sentences by chrF: {better:,} better, "
            f"{worse:,} worse, {equal:,} equal{'; all translations are identical' * system['identical']}"
        )
    if parts := record["lengths"]:
        spans = [f"{part['shortest']:,} to {part['longest']:,} ({part['sentences']:,})" for part in parts]
        bleu = {name: [part["bleu"][name] for part in parts] for name in parts[0]["bleu"]}
        cells = {name: ("-" if value is None else f"{value:.2f}" for value in bleu[name]) for name in bleu}
        rows = [[_label(name), *cells[name]] for name in bleu]
        lines += ["", "BLEU by the words of the source, in brackets the number of sentences"]
        lines += aligned([["", *spans], *rows])
    lines.append("")
    for metric, signatures in record["signatures"].items():
        lines += [f"{NAMES[metric]}, {test}: {signature}" for test, signature in signatures.items()]
    for sentence in record["differences"]:
        first, *others = sentence["references"]
        texts = {"source": sentence["source"], "reference": first}
        texts |= {f"reference {number}": text for number, text in enumerate(others, 2)}
        for name, chrf in sentence["chrf"].items():
            texts[f"{_label(name)} {chrf:.1f}"] = sentence["texts"][name]
        lines += ["", f"line {sentence['line']}"]
        lines += aligned([[f"  {label}", escaped(cut(text, SHOWN))] for label, text in texts.items()])
    return lines


def _rows(record: dict[str, Any]) -> Iterator[list[str]]:
    """A row of cells for every metric and system; see ``COLUMNS``."""
    for metric in record["signatures"]:
        for system in record["systems"]:
            found = system[metric]
            low, high = found["interval"]
            cells = [f"{found['score']:.2f}", f"{low:.2f} to {high:.2f}", "", "", ""]
            if "p" in found:
                p = [f"{value:.4f}{'*' * (value < LIKELY)}" for value in found["p"].values()]
                cells[2:] = [f"{found['difference']:+.2f}", *p]
            yield [NAMES[metric], _label(system["name"]), *cells]


def _label(name: str) -> str:
    return shorten(name, 40)
