"""``translate evaluate``: BLEU, chrF and TER of a test set, and AER where gold links are known."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from translate.cli.console import BatchSize, Device, Plugins, Threads, load_translator, print_warnings
from translate.errors import UserError

EXAMPLES = """
Examples:

  translate evaluate runs/mine --source test.en --reference test.de

  translate evaluate runs/demo/transformer --source test.en --reference test.fr --gold test.gold --json
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
    batch_size: BatchSize = None,
    device: Device = "auto",
    threads: Threads = None,
    plugin: Plugins = None,
) -> None:
    """Translate a test set and score it with sacrebleu; with --gold, score the forced alignments too.

    bleu, chrf and ter run from 0 to 100; aer, precision and recall from 0 to 1.
    """
    from translate.alignment.links import read_gold
    from translate.alignment.score import score
    from translate.evaluation import corpus_scores
    from translate.text.files import pair_of

    pairs = pair_of(source, reference)
    sources, references = pairs.source, pairs.target
    golds = None
    if gold is None and one_based:
        raise UserError("evaluate: --one-based says how --gold FILE counts; give that")
    if gold is not None:
        lengths = [[len(line.split()) for line in side] for side in (sources, references)]
        golds = read_gold(gold, source_lengths=lengths[0], target_lengths=lengths[1], one_based=one_based)
    translator = load_translator(run, device, threads, plugin)
    results = translator.translate(sources, beam_size=beam_size, batch_size=batch_size)
    found = corpus_scores(
        [each.text for each in results], references, target_language=translator.languages[1]
    )
    row: dict[str, Any] = {
        "bleu": found.bleu,
        "chrf": found.chrf,
        "ter": found.ter,
        "signature": found.signature,
        "beam_size": beam_size or translator.search.beam_size,
        "length_penalty": translator.search.length_penalty,
        "sentences": len(sources),
    }
    if golds is not None:
        aligned = translator.align(sources, references, whitespace=True, batch_size=batch_size)
        links = score([each.links() for each in aligned], golds)
        row |= {"aer": links.aer, "precision": links.precision, "recall": links.recall, "f1": links.f1}
    if as_json:
        print(json.dumps(row))
    else:
        print(f"BLEU {found.bleu:.2f}   {found.signatures['bleu']}")
        print(f"chrF {found.chrf:.2f}   {found.signatures['chrf']}")
        print(f"TER  {found.ter:.2f}   {found.signatures['ter']}")
        if golds is not None:
            measures = f"precision {row['precision']:.4f}, recall {row['recall']:.4f}"
            print(f"AER  {100 * row['aer']:.2f} %   {measures}")
    print_warnings(translator)
