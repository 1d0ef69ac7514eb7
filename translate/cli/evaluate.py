"""``translate evaluate``: BLEU, chrF and TER of a test set, and AER if gold links are known."""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from translate.cli.console import print_warnings
from translate.cli.options import AsJson, Run, TranslationMachine, print_engine, with_groups
from translate.errors import UserError

if TYPE_CHECKING:
    from translate.aligner.links import Gold
    from translate.corpora.split import Split
    from translate.evaluation import CorpusScores
    from translate.translator import Translator

EXAMPLES = """
Examples:
  translate evaluate runs/mine --source test.en --reference test.de
  translate evaluate runs/mine --source test.en --reference test.fr \\
      --gold test.gold --json
  translate evaluate runs/mine --source test.en --reference test.de --int8
"""
WARM_UP = 16  # sentences translated before times are compared


@dataclass(frozen=True)
class EvaluationFiles:
    """The files of a test set."""

    PANEL: ClassVar = "Test set"

    source: Annotated[Path, typer.Option(metavar="FILE", help="Source sentences, one a line.")]
    reference: Annotated[Path, typer.Option(metavar="FILE", help="Their translations.")]
    gold: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Gold links (i-j sure, ipj possible; or NAACL): adds AER."),
    ] = None
    one_based: Annotated[
        bool, typer.Option("--one-based", help="The gold links i-j count from 1, not from 0.")
    ] = False

    def read(self) -> tuple["Split", list["Gold"] | None]:
        """The sentence pairs and their gold links; raises :class:`UserError` if the files do not fit."""
        from translate.aligner.links import read_gold
        from translate.corpora.local_files import pair_of

        if self.gold is None and self.one_based:
            raise UserError("evaluate: --one-based describes the file of gold links; add --gold FILE")
        pairs = pair_of(self.source, self.reference)
        if self.gold is None:
            return pairs, None
        source, target = ([len(line.split()) for line in side] for side in (pairs.source, pairs.target))
        golds = read_gold(self.gold, source_lengths=source, target_lengths=target, one_based=self.one_based)
        return pairs, golds


@with_groups
def evaluate(
    run: Run,
    *,
    files: EvaluationFiles,
    as_json: AsJson = False,
    beam_size: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Hypotheses that the beam holds. Default: search.beam_size of the run."
        ),
    ] = None,
    int8: Annotated[
        bool,
        typer.Option("--int8", help="Translate with 8-bit layers too: the loss in BLEU, the change in time."),
    ] = False,
    machine: TranslationMachine,
) -> None:
    """Translate a test set and score it: BLEU, chrF, TER, and AER with gold links.

    bleu, chrf and ter run from 0 to 100; aer, precision and recall from 0 to 1. AER scores the alignments of
    the source sentences with their references.
    """
    pairs, golds = files.read()
    if int8 and machine.precision != "float32":
        raise UserError(
            f"evaluate: --int8 is compared with float32; leave out --precision {machine.precision}"
        )
    translator = machine.load(run)
    print_engine(translator.engine)
    rounded = machine.load(run, int8=True) if int8 else None
    for warmed in () if rounded is None else (translator, rounded):
        warmed.translate(pairs.source[:WARM_UP], beam_size=beam_size)
        warmed.warnings.clear()
    scores, seconds = _scored(translator, pairs, beam_size, machine.batch_size)
    row: dict[str, Any] = {
        **{name: getattr(scores, name) for name in ("bleu", "chrf", "ter", "signature", "signatures")},
        "beam_size": beam_size or translator.search.beam_size,
        "length_penalty": translator.search.length_penalty,
        "sentences": len(pairs.source),
        **({} if machine.engine == "torch" else {"engine": translator.engine.name}),
    }
    if golds is not None:
        row |= _alignment_scores(translator, pairs, golds, machine.batch_size)
    if rounded is not None:
        found, longer = _scored(rounded, pairs, beam_size, machine.batch_size)
        row["int8"] = {"bleu": found.bleu, "cost": scores.bleu - found.bleu, "time_ratio": longer / seconds}
    print(json.dumps(row) if as_json else "\n".join(_table(row, scores)))
    print_warnings(translator)


def _scored(
    translator: "Translator", pairs: "Split", beam_size: int | None, batch_size: int | None
) -> tuple["CorpusScores", float]:
    """The scores of the translations, and the seconds that translating took."""
    from translate.evaluation import corpus_scores

    begin = time.perf_counter()
    results = translator.translate(pairs.source, beam_size=beam_size, batch_size=batch_size)
    seconds = time.perf_counter() - begin
    texts = [result.text for result in results]
    return corpus_scores(texts, pairs.target, target_language=translator.languages[1]), seconds


def _alignment_scores(
    translator: "Translator", pairs: "Split", golds: list["Gold"], batch_size: int | None
) -> dict[str, float]:
    from translate.aligner.error_rate import score

    aligned = translator.align(pairs.source, pairs.target, whitespace=True, batch_size=batch_size)
    links = score([alignment.links() for alignment in aligned], golds)
    return {"aer": links.aer, "precision": links.precision, "recall": links.recall, "f1": links.f1}


def _table(row: dict[str, Any], scores: "CorpusScores") -> list[str]:
    lines = [
        f"BLEU {scores.bleu:.2f}   {scores.signatures['bleu']}",
        f"chrF {scores.chrf:.2f}   {scores.signatures['chrf']}",
        f"TER  {scores.ter:.2f}   {scores.signatures['ter']}",
    ]
    if "aer" in row:
        measures = f"precision {row['precision']:.4f}, recall {row['recall']:.4f}"
        lines.append(f"AER  {100 * row['aer']:.2f} %   {measures}")
    if "int8" in row:
        bleu, cost, ratio = (row["int8"][name] for name in ("bleu", "cost", "time_ratio"))
        change = f"costs {cost:.2f}" if cost >= 0 else f"gains {-cost:.2f}"
        lines.append(f"int8 BLEU {bleu:.2f}, which {change}; {ratio:.2f} times the seconds of float32")
    return lines
