"""``translate evaluate``: BLEU, chrF and TER of test sets, and AER if gold links are known."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from translate.cli.console import print_note, print_warnings
from translate.cli.options import (
    AsJson,
    BeamSize,
    Ensemble,
    Run,
    Tag,
    TranslationMachine,
    check_direction,
    check_place,
    flag,
    languages_of,
    option,
    print_engine,
    tagged,
    warn_of_languages,
    with_groups,
)
from translate.cli.source_options import most_context, other_length
from translate.cli.test_sets import EvaluationFiles, EvaluationSet, seen_line, seen_scores, warn_of_slips
from translate.config.names import counted, shown_path
from translate.errors import UserError

if TYPE_CHECKING:
    from translate.links.links import Gold
    from translate.translator import Translator

MANY = 2000  # sentences of which a user wonders what takes so long


@dataclass(frozen=True)
class GoldOptions:
    """The gold links of a test set."""

    PANEL: ClassVar = "Gold links"

    gold: Annotated[
        Path | None, option("FILE", "Gold links (i-j sure, ipj possible; or NAACL): adds AER.")
    ] = None
    one_based: Annotated[bool, flag("--one-based", "The gold links i-j count from 1, not from 0.")] = False

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
        lengths = [(most_words(source), most_words(target)) for source, target in zip(*sides, strict=True)]
        return read_gold(self.gold, lengths=lengths, one_based=self.one_based)


@dataclass(frozen=True)
class ScoreOptions:
    """The search, further scores, and files beside those of the test sets."""

    PANEL: ClassVar = "Scores"

    beam_size: BeamSize = None
    ensemble: Ensemble = None
    tag: Tag = None
    lowercase: Annotated[
        bool, flag("--lowercase", "Add BLEU of lower-cased tokens, which some publications report.")
    ] = False
    documents: Annotated[
        list[Path] | None,
        option(
            "FILE",
            "The id of each sentence's document, for runs that read context; one file for every test set.",
        ),
    ] = None
    out: Annotated[
        list[Path] | None,
        option("FILE", "Write the translations to this file; as many files as test sets, in the same order."),
    ] = None

    def check(self, files: EvaluationFiles) -> None:
        """Raise :class:`UserError` for files that do not fit the test sets."""
        for name, given in (("--documents", self.documents), ("--out", self.out)):
            if given and len(given) != files.number:
                found = counted(len(given), "file")
                raise UserError(f"evaluate: {found} of {name} for {files.number} test sets; give as many")
        if len(set(self.out or ())) < len(self.out or ()):
            raise UserError("evaluate: --out names a file twice; give a file for every test set")
        for out in self.out or []:
            check_place(out, *(files.source or ()), *(files.reference or ()))


@with_groups
def evaluate(
    run: Run,
    *,
    files: EvaluationFiles,
    links: GoldOptions,
    as_json: AsJson = False,
    scoring: ScoreOptions,
    machine: TranslationMachine,
) -> None:
    """Translate test sets and score them: BLEU, chrF, TER, and AER with gold links.

    AER is the alignment error rate; gold links say which words translate each other, as people drew them.
    bleu, chrf and ter run from 0 to 100; aer, precision and recall from 0 to 1. AER scores the alignments of
    the source sentences with their references. For a run that reads pictures, gold links of patches, which
    count before the source words, give pointing (the greatest weight of a word lies in its region) and IoU,
    fractions from 0 to 1.

    Examples:
      translate evaluate runs/mine --source test.en --reference test.de
      translate evaluate runs/mine --source test.en --reference test.fr \\
          --gold test.gold --json
      translate evaluate runs/mine --source captions.en --reference captions.de \\
          --source law.en --reference law.de --lowercase
      translate evaluate runs/documents --source law.en --reference law.fr \\
          --documents law.doc
    """
    scoring.check(files)
    tests = files.read(run)
    golds = links.read(tests)
    for source in files.source or ():
        check_direction(run, source, "--reference", *(files.reference or ()))
    for test in tests:
        warn_of_languages(languages_of(run), test.source, *test.references[:1])
    translator = machine.load_ensemble(run, scoring.ensemble)
    print_engine(translator.engine)
    if scoring.documents:
        tests = with_documents(translator, tests, scoring.documents)
    rows = []
    outs: Sequence[Path | None] = scoring.out or [None] * len(tests)
    for test, out in zip(tests, outs, strict=True):
        row = _row(run, translator, test, scoring, machine, out)
        if golds is not None:
            from translate.alignment.regions import alignment_scores

            batch, context = machine.batch_size, test.context
            found = translator.align(
                test.source, test.references[0], whitespace=True, batch_size=batch, context=context
            )
            row |= alignment_scores(found, golds)
        rows.append(row)
        if not as_json:
            print("\n".join(_table(test, row, translator.languages[1], headed=len(tests) > 1)))
    if as_json:
        named = [{"name": test.name, **row} for test, row in zip(tests, rows, strict=True)]
        print(json.dumps(rows[0] if len(tests) == 1 else {"test_sets": named}))
    else:
        from translate.evaluation.scores import SCALE

        print_note(f"BLEU: {SCALE}; TER counts errors: lower is better")
    print_warnings(translator)


def with_documents(
    translator: "Translator", tests: Sequence[EvaluationSet], files: Sequence[Path]
) -> list[EvaluationSet]:
    """The test sets with the previous sentences of their sources; raises :class:`UserError`.

    Args:
        files: the ids of documents of each test set.
    """
    from translate.text.documents import previous_sentences
    from translate.text.lines import read_lines

    most = most_context(translator, "--documents")
    found = []
    for path, test in zip(files, tests, strict=True):
        ids = read_lines(path)
        if len(ids) != len(test.source):
            raise other_length(path, len(ids), counted(len(test.source), "sentence"))
        found.append(replace(test, context=list(previous_sentences(test.source, most, ids))))
    return found


def _row(
    run: Path,
    translator: "Translator",
    test: EvaluationSet,
    scoring: ScoreOptions,
    machine: TranslationMachine,
    out: Path | None,
) -> dict[str, Any]:
    """The figures of one test set, by their names in JSON; writes the translations to ``out``."""
    from translate.evaluation.scores import corpus_scores, lowercased_bleu
    from translate.runs.runtime import translate_all
    from translate.text.file_writing import write_text

    if len(test.source) > MANY:
        print_note(f"{counted(len(test.source), 'sentence')} to translate and to score; TER takes longest")
    results = translate_all(
        translator,
        tagged(translator, scoring.tag, test.source),
        beam_size=scoring.beam_size,
        batch_size=machine.batch_size,
        context=test.context,
    )
    texts, language = [result.text for result in results], translator.languages[1]
    if out is not None:
        write_text(out, "".join(f"{text}\n" for text in texts))
    warn_of_slips(test.name, texts, test.references[0])
    row: dict[str, Any] = {
        **corpus_scores(texts, *test.references, target_language=language)._asdict(),
        "beam_size": scoring.beam_size or translator.search.beam_size,
        "length_penalty": translator.search.length_penalty,
        "sentences": len(test.source),
        **({} if machine.engine == "torch" else {"engine": translator.engine.name}),
    }
    row |= seen_scores([run, *(scoring.ensemble or ())], test, texts, language)
    if scoring.lowercase:
        bleu, signature = lowercased_bleu(texts, *test.references, target_language=language)
        row["bleu_lowercased"] = bleu
        row["signatures"] |= {"bleu_lowercased": signature}
    return row


def _table(test: EvaluationSet, row: dict[str, Any], language: str, *, headed: bool) -> list[str]:
    from translate.evaluation.scores import CHANCE, TOO_SHORT, score_lines, too_short

    several = f", {len(test.references)} references" if len(test.references) > 1 else ""
    lines = [f"{shown_path(test.name)}: {counted(len(test.source), 'sentence')}{several}"] if headed else []
    lines += score_lines(row)
    if too_short(*test.references, target_language=language):
        lines.append(TOO_SHORT)
    elif row["bleu"] < 1:
        lines.append(CHANCE)
    if row.get("seen_in_training"):
        lines.append(seen_line(row, "the run's", len(test.source)))
    return lines
