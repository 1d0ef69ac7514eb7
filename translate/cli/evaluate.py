"""``translate evaluate``: BLEU, chrF and TER of test sets, and AER if gold links are known."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from translate.cli.console import print_warnings
from translate.cli.options import (
    AsJson,
    BeamSize,
    Run,
    TranslationMachine,
    check_place,
    print_engine,
    with_groups,
)
from translate.cli.source_options import DocumentIds, NoContext, contexts_of
from translate.cli.test_sets import EvaluationFiles, EvaluationSet, seen_line, seen_scores
from translate.config.names import shown_path
from translate.errors import UserError

if TYPE_CHECKING:
    from translate.links.links import Gold
    from translate.translator import Translator

EXAMPLES = """
Examples:
  translate evaluate runs/mine --source test.en --reference test.de
  translate evaluate runs/mine --source test.en --reference test.fr \\
      --gold test.gold --json
  translate evaluate runs/mine --source test.en --reference test.de --int8
  translate evaluate runs/mine --source captions.en --reference captions.de \\
      --source law.en --reference law.de --lowercase
  translate evaluate runs/documents --source law.en --reference law.fr \\
      --documents law.doc
"""


@dataclass(frozen=True)
class GoldOptions:
    """The gold links of a test set."""

    PANEL: ClassVar = "Gold links"

    gold: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Gold links (i-j sure, ipj possible; or NAACL): adds AER."),
    ] = None
    one_based: Annotated[
        bool, typer.Option("--one-based", help="The gold links i-j count from 1, not from 0.")
    ] = False

    def __post_init__(self) -> None:
        if self.gold is None and self.one_based:
            raise UserError("evaluate: --one-based describes the file of gold links; add --gold FILE")

    def read(self, tests: list[EvaluationSet]) -> list["Gold"] | None:
        """The gold links of the pairs of source and first reference; raises :class:`UserError`."""
        from translate.corpora.images.line import most_words
        from translate.links.links import read_gold

        if self.gold is None:
            return None
        if len(tests) > 1:
            raise UserError(f"evaluate: --gold is for one test set, but there are {len(tests)}")
        sides = tests[0].source, tests[0].references[0]
        source, target = ([most_words(line) for line in side] for side in sides)
        return read_gold(self.gold, source_lengths=source, target_lengths=target, one_based=self.one_based)


@dataclass(frozen=True)
class ScoreOptions:
    """Further scores, and the files that translations are written to."""

    PANEL: ClassVar = "Scores"

    beam_size: BeamSize = None
    lowercase: Annotated[
        bool,
        typer.Option("--lowercase", help="Add BLEU of lower-cased tokens, which some publications report."),
    ] = False
    ambiguous: Annotated[
        bool,
        typer.Option(
            "--ambiguous",
            help="Add the share of exact translations among source sentences that have several references.",
        ),
    ] = False
    int8: Annotated[
        bool,
        typer.Option("--int8", help="Translate with 8-bit layers too, and add the loss in BLEU."),
    ] = False
    out: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Write the translations to this file; as many files as test sets, in the same order.",
        ),
    ] = None

    def check(self, machine: TranslationMachine, number: int) -> None:
        """Raise :class:`UserError` for options that do not fit together; ``number`` is that of test sets."""
        if self.int8 and machine.precision != "float32":
            raise UserError(
                f"evaluate: --int8 is compared with float32; leave out --precision {machine.precision}"
            )
        if self.out and len(self.out) != number:
            raise UserError(f"evaluate: {len(self.out)} files of --out for {number} test sets; give as many")
        for out in self.out or []:
            check_place(out)


@dataclass(frozen=True)
class DocumentOptions:
    """The documents of test sets, for runs that read previous sentences."""

    PANEL: ClassVar = "Documents"

    documents: DocumentIds = None
    no_context: NoContext = False

    def read(self, translator: "Translator", tests: list[EvaluationSet]) -> list[EvaluationSet]:
        """The test sets with the previous sentences of their sources; raises :class:`UserError`."""
        sources = [test.source for test in tests]
        found = contexts_of(translator, sources, self.documents, no_context=self.no_context)
        return [replace(test, context=context) for test, context in zip(tests, found, strict=True)]


@with_groups
def evaluate(
    run: Run,
    *,
    files: EvaluationFiles,
    links: GoldOptions,
    as_json: AsJson = False,
    scoring: ScoreOptions,
    context: DocumentOptions,
    machine: TranslationMachine,
) -> None:
    """Translate test sets and score them: BLEU, chrF, TER, and AER with gold links.

    AER is the alignment error rate; gold links say which words translate each other, as people drew them.
    bleu, chrf and ter run from 0 to 100; aer, precision and recall from 0 to 1. AER scores the alignments of
    the source sentences with their references. For a run that reads pictures, gold links of patches, which
    count before the source words, give pointing (the greatest weight of a word lies in its region) and IoU,
    fractions from 0 to 1.
    """
    scoring.check(machine, files.number)
    tests = files.read()
    golds = links.read(tests)
    translator = machine.load(run)
    print_engine(translator.engine)
    tests = context.read(translator, tests)
    rounded = machine.load(run, int8=True) if scoring.int8 else None
    rows = []
    outs: Sequence[Path | None] = scoring.out or [None] * len(tests)
    for test, out in zip(tests, outs, strict=True):
        row = _row(run, translator, test, scoring, machine, rounded, out)
        if golds is not None:
            row |= _alignment_scores(translator, test, golds, machine.batch_size)
        rows.append(row)
        if not as_json:
            print("\n".join(_table(test, row, headed=len(tests) > 1)))
    if as_json:
        named = [{"name": test.name, **row} for test, row in zip(tests, rows, strict=True)]
        print(json.dumps(rows[0] if len(tests) == 1 else {"test_sets": named}))
    print_warnings(translator)


def _row(
    run: Path,
    translator: "Translator",
    test: EvaluationSet,
    scoring: ScoreOptions,
    machine: TranslationMachine,
    rounded: "Translator | None",
    out: Path | None,
) -> dict[str, Any]:
    """The figures of one test set, by their names in JSON; writes the translations to ``out``."""
    from translate.evaluation.scores import corpus_scores, lowercased_bleu
    from translate.text.file_writing import write_text

    texts, language = _translated(translator, test, scoring, machine), translator.languages[1]
    if out is not None:
        write_text(out, "".join(f"{text}\n" for text in texts))
    row: dict[str, Any] = {
        **corpus_scores(texts, *test.references, target_language=language)._asdict(),
        "beam_size": scoring.beam_size or translator.search.beam_size,
        "length_penalty": translator.search.length_penalty,
        "sentences": len(test.source),
        **({} if machine.engine == "torch" else {"engine": translator.engine.name}),
    }
    row |= seen_scores(run, test, texts, language)
    if scoring.lowercase:
        bleu, signature = lowercased_bleu(texts, *test.references, target_language=language)
        row["bleu_lowercased"] = bleu
        row["signatures"] |= {"bleu_lowercased": signature}
    if scoring.ambiguous:
        row["ambiguous"] = _ambiguous_scores(test, texts)
    if rounded is not None:
        others = _translated(rounded, test, scoring, machine)
        bleu = corpus_scores(others, *test.references, target_language=language).bleu
        row["int8"] = {"bleu": bleu, "cost": row["bleu"] - bleu}
    return row


def _translated(
    translator: "Translator", test: EvaluationSet, scoring: ScoreOptions, machine: TranslationMachine
) -> list[str]:
    from translate.runs.runtime import parallel_search

    with parallel_search(translator, len(test.source)):
        results = translator.translate(
            test.source, beam_size=scoring.beam_size, batch_size=machine.batch_size, context=test.context
        )
    return [result.text for result in results]


def _alignment_scores(
    translator: "Translator", test: EvaluationSet, golds: list["Gold"], batch_size: int | None
) -> dict[str, float]:
    from translate.alignment.regions import alignment_scores

    aligned = translator.align(
        test.source, test.references[0], whitespace=True, batch_size=batch_size, context=test.context
    )
    return alignment_scores(aligned, golds)


def _ambiguous_scores(test: EvaluationSet, texts: list[str]) -> dict[str, float]:
    from translate.corpora.images.line import sentences_of
    from translate.evaluation.scores import ambiguous_scores

    found = ambiguous_scores(sentences_of(test.source), texts, test.references[0])
    if found is None:
        raise UserError("evaluate: --ambiguous: no source sentence has several references here; leave it out")
    return found._asdict()


def _table(test: EvaluationSet, row: dict[str, Any], *, headed: bool) -> list[str]:
    from translate.evaluation.scores import ambiguous_line

    several = f", {len(test.references)} references" if len(test.references) > 1 else ""
    lines = [f"{shown_path(test.name)}: {len(test.source):,} sentences{several}"] if headed else []
    names = {"bleu": "BLEU", "bleu_lowercased": "BLEU", "chrf": "chrF", "ter": "TER "}
    lines += [
        f"{title} {row[name]:.2f}   {row['signatures'][name]}" for name, title in names.items() if name in row
    ]
    if row.get("seen_in_training"):
        lines.append(seen_line(row, "the run's", len(test.source)))
    if "ambiguous" in row:
        lines.append(ambiguous_line(**row["ambiguous"]))
    if "pointing" in row:
        pointed = f"of {row['pointed_words']:,} words that name something in the picture"
        lines.append(f"pointing {100 * row['pointing']:.2f} % {pointed}, IoU {100 * row['iou']:.2f} %")
    if "aer" in row:
        measures = f"precision {row['precision']:.4f}, recall {row['recall']:.4f}"
        lines.append(f"AER  {100 * row['aer']:.2f} %   {measures} (error rate of the word links)")
    if "int8" in row:
        bleu, cost = row["int8"]["bleu"], row["int8"]["cost"]
        change = f"costs {cost:.2f}" if cost >= 0 else f"gains {-cost:.2f}"
        lines.append(f"int8 BLEU {bleu:.2f}, which {change}")
    return lines
