"""``translate evaluate``: BLEU, chrF and TER of a test set, and AER where gold links are known."""

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from translate.cli.console import (
    BatchSize,
    Device,
    Plugins,
    Precision,
    Threads,
    load_translator,
    print_warnings,
)
from translate.errors import UserError

if TYPE_CHECKING:
    from translate.aligner.links import Gold
    from translate.corpora.split import Split
    from translate.evaluation import CorpusScores
    from translate.translator import Translator

EXAMPLES = """
Examples:

  translate evaluate runs/mine --source test.en --reference test.de

  translate evaluate runs/demo/transformer --source test.en --reference test.fr --gold test.gold --json

  translate evaluate runs/mine --source test.en --reference test.de --int8
"""


def evaluate(
    run: Annotated[Path, typer.Argument(help="Run directory.")],
    source: Annotated[Path, typer.Option(help="File of source sentences.")],
    reference: Annotated[Path, typer.Option(help="File of their translations.")],
    gold: Annotated[
        Path | None, typer.Option(help="File of gold links (i-j sure, ipj possible; or NAACL): adds AER.")
    ] = None,
    one_based: Annotated[
        bool, typer.Option("--one-based", help="The gold links i-j count from 1, not from 0.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    beam_size: Annotated[
        int | None, typer.Option(help="Hypotheses kept; 1 is greedy. Default: the run's search.beam_size.")
    ] = None,
    int8: Annotated[
        bool,
        typer.Option(
            "--int8", help="Translate in 8 bits too (translate text --int8): what that costs in BLEU."
        ),
    ] = False,
    batch_size: BatchSize = None,
    device: Device = "auto",
    threads: Threads = None,
    precision: Precision = "float32",
    plugin: Plugins = None,
) -> None:
    """Translate a test set and score it with sacrebleu; with --gold, score the forced alignments too.

    bleu, chrf and ter run from 0 to 100; aer, precision and recall from 0 to 1. --int8 compares the time of
    one pass each.
    """
    from translate.corpora.local_files import pair_of

    if gold is None and one_based:
        raise UserError("evaluate: --one-based says how --gold FILE counts; give that")
    pairs = pair_of(source, reference)
    golds = None if gold is None else _read_gold(gold, pairs, one_based)
    if int8 and precision != "float32":
        raise UserError(f"evaluate: --int8 is compared with float32; leave out --precision {precision}")
    translator = load_translator(run, device, threads, plugin, precision=precision)
    in_8_bits = load_translator(run, device, threads, plugin, int8=True) if int8 else None
    for each in () if in_8_bits is None else (translator, in_8_bits):  # warm up, for the times
        each.translate(pairs.source[:16], beam_size=beam_size)
        each.warnings.clear()
    found, seconds = _translated(translator, pairs, beam_size, batch_size)
    row: dict[str, Any] = {
        "bleu": found.bleu,
        "chrf": found.chrf,
        "ter": found.ter,
        "signature": found.signature,
        "signatures": found.signatures,
        "beam_size": beam_size or translator.search.beam_size,
        "length_penalty": translator.search.length_penalty,
        "sentences": len(pairs.source),
    }
    if golds is not None:
        row |= _aligned(translator, pairs, golds, batch_size)
    if in_8_bits is not None:
        rounded, longer = _translated(in_8_bits, pairs, beam_size, batch_size)
        row["int8"] = {
            "bleu": rounded.bleu,
            "cost": found.bleu - rounded.bleu,
            "time_ratio": longer / seconds,
        }
    if as_json:
        print(json.dumps(row))
    else:
        _print_table(row, found)
    print_warnings(translator)


def _read_gold(path: Path, pairs: "Split", one_based: bool) -> list["Gold"]:
    from translate.aligner.links import read_gold

    source, target = ([len(line.split()) for line in side] for side in (pairs.source, pairs.target))
    return read_gold(path, source_lengths=source, target_lengths=target, one_based=one_based)


def _translated(
    translator: "Translator", pairs: "Split", beam_size: int | None, batch_size: int | None
) -> tuple["CorpusScores", float]:
    """The scores of the translations, and the seconds that these took."""
    from translate.evaluation import corpus_scores

    begin = time.perf_counter()
    results = translator.translate(pairs.source, beam_size=beam_size, batch_size=batch_size)
    seconds = time.perf_counter() - begin
    texts = [each.text for each in results]
    return corpus_scores(texts, pairs.target, target_language=translator.languages[1]), seconds


def _aligned(
    translator: "Translator", pairs: "Split", golds: list["Gold"], batch_size: int | None
) -> dict[str, float]:
    from translate.aligner.error_rate import score

    aligned = translator.align(pairs.source, pairs.target, whitespace=True, batch_size=batch_size)
    links = score([each.links() for each in aligned], golds)
    return {"aer": links.aer, "precision": links.precision, "recall": links.recall, "f1": links.f1}


def _print_table(row: dict[str, Any], found: "CorpusScores") -> None:
    print(f"BLEU {found.bleu:.2f}   {found.signatures['bleu']}")
    print(f"chrF {found.chrf:.2f}   {found.signatures['chrf']}")
    print(f"TER  {found.ter:.2f}   {found.signatures['ter']}")
    if "aer" in row:
        measures = f"precision {row['precision']:.4f}, recall {row['recall']:.4f}"
        print(f"AER  {100 * row['aer']:.2f} %   {measures}")
    if "int8" in row:
        bleu, cost, ratio = (row["int8"][name] for name in ("bleu", "cost", "time_ratio"))
        change = f"costs {cost:.2f}" if cost >= 0 else f"gains {-cost:.2f}"
        print(f"int8 BLEU {bleu:.2f}, which {change}; {ratio:.2f} times the seconds of float32")
